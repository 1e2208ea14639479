package io.holdfast.slab.planted;

import com.google.gson.JsonObject;
import java.sql.Connection;
import org.jspecify.annotations.Nullable;

/** Breaks the architecture on purpose: a library and a database in a module of the JDK alone, and a thread. */
public final class SlabWithALibrary {

    public final JsonObject library = new JsonObject();

    public @Nullable Connection database;

    public void run() {
        Thread.ofVirtual().start(() -> {});
    }
}
