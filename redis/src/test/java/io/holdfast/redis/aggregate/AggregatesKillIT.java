package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.Seeds;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.ds.PGSimpleDataSource;
import redis.clients.jedis.Jedis;

/**
 * Three processes add up a log of messages while one of them is killed every second, Redis stands still twice and the database is
 * stopped. In the end the table has exactly the totals of the log, one row per key and epoch.
 */
class AggregatesKillIT {

    private static final int PARTITIONS = 8;
    private static final int INSTANCES = 3;

    /** The size of a run: smaller in the build, whole on demand. */
    private record Size(int updates, int keys, int kills, Duration stall, Duration databaseStop, int updatesPerSecond) {
        static Size ofThisRun() {
            return System.getProperty("seeds", "").isBlank()
                    ? new Size(40_000, 2_000, 5, Duration.ofSeconds(1), Duration.ofSeconds(2), 6_000)
                    : new Size(200_000, 5_000, 30, Duration.ofSeconds(3), Duration.ofSeconds(10), 5_000);
        }
    }

    @TempDir
    private Path folder;

    /** One run of a fifth of the size by default; -Dseeds=10 for ten whole ones in a row. */
    @Test
    void tableEqualsTheExactTotalsWhateverIsKilled() {
        Seeds.of(1).run((seed, random) -> {
            try (Scene scene = new Scene(Size.ofThisRun(), folder.resolve("data" + seed), random)) {
                scene.run();
                scene.compare();
            }
        });
    }

    /** What a message of the log says; the same in every process. */
    private static String keyOf(int partition, long offset, int keys) {
        return "key" + (mixed(partition, offset) >>> 1) % keys;
    }

    private static long amountOf(int partition, long offset) {
        return 1 + (mixed(partition, offset + 1) >>> 1) % 9;
    }

    private static long mixed(int partition, long offset) {
        long value = (partition * 0x9E3779B97F4A7C15L) ^ (offset * 0xBF58476D1CE4E5B9L);
        value = (value ^ (value >>> 30)) * 0x94D049BB133111EBL;
        return value ^ (value >>> 31);
    }

    private static AggregatesBuilder<Visit> aggregates(Holdfast holdfast, DataSource database) {
        return holdfast.aggregates("killed", Visit.class, Visit::merge)
                .sink(JdbcSink.to(database))
                .softWindow(Duration.ofSeconds(3))
                .hardWindow(Duration.ofSeconds(6))
                .publishInterval(Duration.ofMillis(100))
                .set(AggregateSettings.LEASE, Duration.ofSeconds(2))
                .set(AggregateSettings.CLAIM, Duration.ofSeconds(2))
                .set(AggregateSettings.RETRY_PAUSE, Duration.ofMillis(200))
                .set(AggregateSettings.TABLE, 1_000);
    }

    private static DataSource database(int port) {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setPortNumbers(new int[] {port});
        source.setUser("postgres");
        source.setDatabaseName("postgres");
        source.setConnectTimeout(2);
        source.setSocketTimeout(5);
        return source;
    }

    private static final class Scene implements AutoCloseable {
        private final Size size;
        private final Path data;
        private final RandomGenerator random;
        private final RedisServer redis = RedisServer.start();
        /** What a bus remembers; it neither stalls nor dies. */
        private final RedisServer bus = RedisServer.start();

        private EmbeddedPostgres postgres;
        private final int port;
        private final List<ChildJvm> children = new ArrayList<>();
        private int kills;

        Scene(Size size, Path data, RandomGenerator random) throws Exception {
            this.size = size;
            this.data = data;
            this.random = random;
            this.postgres = EmbeddedPostgres.builder()
                    .setDataDirectory(data)
                    .setCleanDataDirectory(false)
                    .setServerConfig("fsync", "off")
                    .start();
            this.port = postgres.getPort();
        }

        private ChildJvm launch(int index) {
            return ChildJvm.of(Instance.class)
                    .options("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                    .arguments(
                            redis.uri(),
                            bus.uri(),
                            port,
                            index,
                            size.updates() / PARTITIONS,
                            size.keys(),
                            size.updatesPerSecond() / INSTANCES)
                    .launch();
        }

        void run() throws Exception {
            for (int i = 0; i < INSTANCES; i++) {
                children.add(launch(i));
            }
            long begin = System.nanoTime();
            int second = 0;
            while (!isRead()) {
                LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
                second++;
                if (kills < size.kills()) {
                    int victim = random.nextInt(INSTANCES);
                    children.get(victim).kill();
                    children.get(victim).close();
                    children.set(victim, launch(victim));
                    kills++;
                }
                if (second == 2 || second == 6) {
                    redis.stall();
                    LockSupport.parkNanos(size.stall().toNanos());
                    redis.resume();
                }
                if (second == 4) {
                    stopDatabase();
                }
                for (ChildJvm child : children) {
                    assertThat(child.isAlive())
                            .as("nobody killed it: %s", child.errors())
                            .isTrue();
                }
                assertThat(System.nanoTime() - begin)
                        .as("read within five minutes: %s of %s", read(), size.updates())
                        .isLessThan(Duration.ofMinutes(5).toNanos());
            }
            System.out.printf(
                    "%d updates over %d keys read in %d s, %d kills%n",
                    size.updates(), size.keys(), (System.nanoTime() - begin) / 1_000_000_000, kills);
        }

        private void stopDatabase() throws Exception {
            postgres.close();
            LockSupport.parkNanos(size.databaseStop().toNanos());
            postgres = EmbeddedPostgres.builder()
                    .setDataDirectory(data)
                    .setCleanDataDirectory(false)
                    .setPort(port)
                    .setServerConfig("fsync", "off")
                    .start();
        }

        private long read() {
            try (Jedis jedis = bus.client()) {
                return jedis.hgetAll("acknowledged").values().stream()
                        .mapToLong(value -> Long.parseLong(value) + 1)
                        .sum();
            }
        }

        private boolean isRead() {
            return read() == size.updates();
        }

        void compare() throws Exception {
            try (Holdfast holdfast = Holdfast.connect(redis.uri().toString())) {
                Aggregates<Visit> here = aggregates(holdfast, database(port)).start();
                await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> {
                    HoldView.Stats stats = here.view().stats().holds();
                    assertThat(stats.live() + stats.grace() + stats.closing())
                            .as(
                                    "left: %s, for instance %s %s",
                                    stats,
                                    here.view().list(HoldView.State.LIVE, 3),
                                    here.view().list(HoldView.State.CLOSING, 3))
                            .isZero();
                });
                assertThat(here.view().list(HoldView.State.DEAD_LETTER, 10)).isEmpty();
                assertThat(here.view().stats().waitingBytes()).isZero();
            }
            Map<String, Long> expected = new TreeMap<>();
            for (int partition = 0; partition < PARTITIONS; partition++) {
                for (long offset = 0; offset < size.updates() / PARTITIONS; offset++) {
                    expected.merge(keyOf(partition, offset, size.keys()), amountOf(partition, offset), Long::sum);
                }
            }
            Map<String, Long> found = new TreeMap<>();
            long rows = 0;
            long updates = 0;
            try (Connection connection = database(port).getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("select aggregate_key, sum(views), count(*), sum(updates)"
                            + " from holdfast_killed group by aggregate_key")) {
                while (row.next()) {
                    found.put(row.getString(1), row.getLong(2));
                    rows += row.getLong(3);
                    updates += row.getLong(4);
                }
            }
            System.out.printf("%d rows for %d keys%n", rows, found.size());
            assertThat(found).isEqualTo(expected);
            assertThat(updates).isEqualTo(size.updates());
        }

        @Override
        public void close() throws IOException {
            children.forEach(ChildJvm::close);
            postgres.close();
            redis.close();
            bus.close();
        }
    }

    /** The process that is killed: reads every third partition from where it was acknowledged. */
    static final class Instance {
        public static void main(String[] arguments) throws Exception {
            int index = Integer.parseInt(arguments[3]);
            long end = Long.parseLong(arguments[4]);
            int keys = Integer.parseInt(arguments[5]);
            long pauseNanos = 1_000_000_000L / Integer.parseInt(arguments[6]);
            var bus = java.net.URI.create(arguments[1]);
            try (Jedis acknowledgements = new Jedis(bus.getHost(), bus.getPort());
                    Holdfast holdfast = whenRedisAnswers(() -> Holdfast.builder()
                            .uri(arguments[0])
                            .instance("i" + index)
                            .set(LinkSettings.TIMEOUT, Duration.ofMillis(500))
                            .open())) {
                DataSource database = database(Integer.parseInt(arguments[2]));
                Aggregates<Visit> visits =
                        whenRedisAnswers(() -> aggregates(holdfast, database).start());
                long[] next = new long[PARTITIONS];
                for (int partition = index; partition < PARTITIONS; partition += INSTANCES) {
                    String known = acknowledgements.hget("acknowledged", "p" + partition);
                    next[partition] = known == null ? 0 : Long.parseLong(known) + 1;
                }
                ChildJvm.sayReady();
                long time = System.nanoTime();
                for (long round = 1; ; round++) {
                    for (int partition = index; partition < PARTITIONS; partition += INSTANCES) {
                        if (next[partition] < end) {
                            add(visits, partition, next[partition]++, keys);
                        }
                        if (round % 50 == 0) {
                            long durable = visits.durable("p" + partition).orElse(-1);
                            if (durable >= 0) {
                                acknowledgements.hset("acknowledged", "p" + partition, Long.toString(durable));
                            }
                        }
                    }
                    time += 2 * pauseNanos;
                    LockSupport.parkNanos(time - System.nanoTime());
                }
            }
        }

        /** Redis may stand still at any moment of this life, also at its beginning. */
        private static <V> V whenRedisAnswers(Supplier<V> act) {
            while (true) {
                try {
                    return act.get();
                } catch (HoldfastException e) {
                    if (!e.isRetryable()) {
                        throw e;
                    }
                }
            }
        }

        private static void add(Aggregates<Visit> visits, int partition, long offset, int keys) {
            var unused = whenRedisAnswers(() -> visits.add(
                    keyOf(partition, offset, keys),
                    Visit.of(amountOf(partition, offset)),
                    Position.at("p" + partition, offset)));
        }
    }
}
