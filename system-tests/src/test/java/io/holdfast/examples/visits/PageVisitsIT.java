package io.holdfast.examples.visits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.app.aggregates.EmbeddedDatabase;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateView;
import io.holdfast.redis.aggregate.MergeLaws;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.XAddParams;

/** Three counters, one of them killed, and a table that has exactly what the stream had. */
class PageVisitsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int MESSAGES = 20_000;
    private static final int PAGES = 200;

    @TempDir
    private Path folder;

    @Test
    void mergeOfVisitsKeepsTheLaws() {
        MergeLaws.values(
                        random -> new PageVisits(random.nextInt(5), random.nextInt(100), random.nextInt(60)),
                        PageVisits::merge)
                .identity(new PageVisits(0, 0, 0))
                .check();
    }

    @Test
    void tableHasExactlyWhatTheStreamHad() throws Exception {
        Map<String, PageVisits> expected = new TreeMap<>();
        try (Jedis jedis = redis.client();
                var database = EmbeddedDatabase.in(folder)) {
            jedis.xgroupCreate(VisitCounter.STREAM, VisitCounter.GROUP, new StreamEntryID("0-0"), true);
            List<ChildJvm> counters = new ArrayList<>();
            try {
                for (int i = 0; i < 3; i++) {
                    counters.add(counter("counter-" + i));
                }
                RandomGenerator random = Seeds.random(1);
                send(jedis, random, expected, MESSAGES / 2);
                counters.get(1).kill();
                send(jedis, random, expected, MESSAGES / 2);
                counters.add(counter("counter-3"));
                await().atMost(Duration.ofSeconds(90)).until(() -> isCounted(jedis));
                await().atMost(Duration.ofSeconds(90)).until(PageVisitsIT::isFlushed);
            } finally {
                counters.forEach(ChildJvm::close);
            }
            assertThat(table(database)).isEqualTo(expected);
        }
    }

    private ChildJvm counter(String name) {
        return ChildJvm.of(VisitCounter.class)
                .options("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(redis.uri(), name, folder)
                .start();
    }

    private static void send(Jedis jedis, RandomGenerator random, Map<String, PageVisits> expected, int count) {
        try (Pipeline pipeline = jedis.pipelined()) {
            for (int i = 0; i < count; i++) {
                Map<String, String> message = Map.of(
                        "page",
                        "/page/" + random.nextInt(PAGES),
                        "seconds",
                        Integer.toString(random.nextInt(600)),
                        "at",
                        Long.toString(1_700_000_000_000L + i));
                expected.merge(message.getOrDefault("page", "?"), PageVisits.of(message), PageVisits::merge);
                pipeline.xadd(VisitCounter.STREAM, message, XAddParams.xAddParams());
            }
        }
    }

    private static boolean isCounted(Jedis jedis) {
        var group = jedis.xinfoGroups(VisitCounter.STREAM).getFirst();
        Object lag = group.getGroupInfo().get("lag");
        return group.getPending() == 0 && lag instanceof Long left && left == 0;
    }

    private static boolean isFlushed() {
        try (Holdfast holdfast = Holdfast.connect(redis.uri().toString())) {
            HoldView.Stats stats = AggregateView.find(holdfast.link(), "visits")
                    .orElseThrow()
                    .stats()
                    .holds();
            return stats.live() + stats.grace() + stats.closing() + stats.deadLetters() == 0;
        }
    }

    private static Map<String, PageVisits> table(DataSource database) throws SQLException {
        Map<String, PageVisits> pages = new TreeMap<>();
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select aggregate_key, sum(visits), sum(seconds), max(longest)"
                        + " from holdfast_visits group by aggregate_key")) {
            while (row.next()) {
                pages.put(row.getString(1), new PageVisits(row.getLong(2), row.getLong(3), row.getLong(4)));
            }
        }
        return pages;
    }
}
