package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.testkit.RedisServer;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines of the quickstart for aggregates are run, and what they add is in the database. */
class QuickstartIT {

    /** As the page has it; instances know a value by the names of its components. */
    record Visit(long count) {
        static Visit merge(Visit one, Visit other) {
            return new Visit(one.count() + other.count());
        }
    }

    @TempDir
    Path folder;

    @Test
    void updateOfTheAggregatesLinesIsARowOnceItsEpochEnds() throws Exception {
        try (RedisServer redis = RedisServer.start();
                var database = SnippetWorld.database()) {
            run(aggregatesLines().replace("redis://localhost", redis.uri().toString()));
            // The lines left the key open for the rest of its window: another instance ends it here.
            try (var holdfast = Holdfast.connect(redis.uri().toString());
                    var visits = holdfast.aggregates("visits", Visit.class, Visit::merge)
                            .sink(JdbcSink.to(database))
                            .start()) {
                assertThat(visits.end("/home")).isPositive();
                await().atMost(Duration.ofSeconds(30))
                        .ignoreExceptionsInstanceOf(SQLException.class) // the table is made by the first flush
                        .until(() -> rows(database), rows -> rows.equals(List.of("visits /home 1 1")));
            }
        }
    }

    private static String aggregatesLines() {
        String page = SourceTree.text(SourceTree.ofBuild().root().resolve("docs/quickstart.md"));
        List<String> blocks = Snippets.javaBlocks(page).stream()
                .filter(block -> block.contains("holdfast.aggregates("))
                .toList();
        assertThat(blocks).hasSize(1);
        return blocks.getFirst();
    }

    private void run(String block) throws Exception {
        assertThat(Snippets.compile(block, folder)).isEmpty();
        URL[] classes = {folder.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(classes, getClass().getClassLoader())) {
            SnippetWorld world =
                    (SnippetWorld) loader.loadClass("Snippet").getConstructor().newInstance();
            world.run();
        }
    }

    private static List<String> rows(DataSource database) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "select set_name, aggregate_key, count_, updates from holdfast_visits")) {
            while (row.next()) {
                rows.add(row.getString(1) + " " + row.getString(2) + " " + row.getLong(3) + " " + row.getLong(4));
            }
        }
        return rows;
    }
}
