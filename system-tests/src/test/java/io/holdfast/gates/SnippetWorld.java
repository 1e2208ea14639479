package io.holdfast.gates;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.redis.session.SessionHold;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** What a reader's own program has and the snippets of the pages take for granted. */
public abstract class SnippetWorld {

    protected final byte[] page = "a page".getBytes(StandardCharsets.UTF_8);
    protected final byte[] leaf = "a leaf".getBytes(StandardCharsets.UTF_8);

    protected final byte[] key = "a key".getBytes(StandardCharsets.UTF_8);
    protected final String roomId = "a room";
    protected final String topic = "visits";
    protected final int partition = 1;
    protected final long offset = 2;
    protected final DataSource dataSource = database();

    /** The database behind {@code dataSource}; a pool that connects when it is first used. */
    public static HikariDataSource database() {
        HikariDataSource database = new HikariDataSource();
        database.setJdbcUrl("jdbc:h2:mem:snippets;DB_CLOSE_DELAY=-1");
        return database;
    }

    /** What the snippet showed, for the test that runs it. */
    public final List<String> shown = new ArrayList<>();

    protected final void show(byte[] value) {
        shown.add(new String(value, StandardCharsets.UTF_8));
    }

    protected final void serve(SessionHold hold) {
        shown.add(hold.id());
    }

    protected final void acknowledge(long upTo) {
        shown.add("acknowledged up to " + upTo);
    }

    protected final void stop(String id, long token) {
        shown.add(id + " " + token);
    }

    /** The snippet. */
    public abstract void run() throws Exception;
}
