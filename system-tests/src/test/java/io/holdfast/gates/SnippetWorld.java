package io.holdfast.gates;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** What a reader's own program has and the snippets of the pages take for granted. */
public abstract class SnippetWorld {

    protected final byte[] page = "a page".getBytes(StandardCharsets.UTF_8);
    protected final byte[] leaf = "a leaf".getBytes(StandardCharsets.UTF_8);

    /** What the snippet showed, for the test that runs it. */
    public final List<String> shown = new ArrayList<>();

    protected final void show(byte[] value) {
        shown.add(new String(value, StandardCharsets.UTF_8));
    }

    /** The snippet. */
    public abstract void run() throws Exception;
}
