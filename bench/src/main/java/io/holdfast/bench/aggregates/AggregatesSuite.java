package io.holdfast.bench.aggregates;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.app.aggregates.EmbeddedDatabase;
import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.Suite;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.redis.aggregate.Position;
import io.holdfast.testkit.RedisServer;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;
import redis.clients.jedis.Jedis;

/** What aggregates cost, beside the original's locks and single rows. */
public final class AggregatesSuite implements Suite {

    private static final Duration LEASE = Duration.ofSeconds(1);

    /** What is added up. */
    record Visit(long views, long seconds) {
        Visit merge(Visit other) {
            return new Visit(views + other.views, seconds + other.seconds);
        }
    }

    static final Visit ONE = new Visit(1, 30);

    @Override
    public String name() {
        return "aggregates";
    }

    @Override
    public String description() {
        return "aggregates: hot and cold keys, closes into H2 and PostgreSQL, traffic to Redis";
    }

    @Override
    public void measure(Run run) throws Exception {
        updates(run);
        cold(run);
        OpenKeys.measure(run);
        fourInstances(run);
        closes(run);
        traffic(run);
    }

    static AggregatesBuilder<Visit> aggregates(Holdfast holdfast, String name) {
        return holdfast.aggregates(name, Visit.class, Visit::merge)
                .publishInterval(Duration.ofMillis(500))
                .set(AggregateSettings.LEASE, LEASE);
    }

    static List<String> keys(String prefix, int count) {
        return IntStream.range(0, count).mapToObj(i -> prefix + i).toList();
    }

    /** Updates of keys that are at hand, by one thread, everything durable in the end. */
    private static void updates(Run run) throws Exception {
        run.note("hot keys");
        int count = run.size(2_000_000, 300_000);
        int unorderedCount = run.size(300_000, 40_000);
        int originalCount = run.size(4_000, 500);
        try (RedisServer server = RedisServer.start();
                ServerCpu cpu = new ServerCpu(server.uri());
                Jedis jedis = server.client();
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Aggregates<Visit> ordered = aggregates(holdfast, "ordered").start();
                Aggregates<Visit> unordered = aggregates(holdfast, "unordered").start()) {
            Meter meter = Meter.with(cpu);
            List<String> keys = keys("page-", 100);
            OriginalReferences original = new OriginalReferences(jedis);
            long[] next = new long[1];
            Contest.Results results = new Contest()
                    .add("ordered", () -> meter.measure(count, () -> add(ordered, keys, count, i -> at(next))))
                    .add(
                            "unordered",
                            () -> meter.measure(
                                    unorderedCount, () -> add(unordered, keys, unorderedCount, i -> id(next))))
                    .add(
                            "original",
                            () -> meter.measure(originalCount, () -> {
                                for (int i = 0; i < originalCount; i++) {
                                    original.update(keys.get(i % keys.size()), 1);
                                }
                            }))
                    .run(run.size(5, 3));
            double core = results.median("ordered", AggregatesSuite::perCore);
            run.row(Row.reported("hot keys, ordered source, per core", "1/s", Direction.HIGHER, core)
                    .goal(150_000));
            run.row(Row.compared(
                    "hot keys, ordered source",
                    "1/s",
                    Direction.HIGHER,
                    results.median("ordered", Measurement::operationsPerSecond),
                    results.median("original", Measurement::operationsPerSecond),
                    "lock, SADD, HINCRBY, DEL"));
            run.row(Row.compared(
                    "hot keys, unordered source",
                    "1/s",
                    Direction.HIGHER,
                    results.median("unordered", Measurement::operationsPerSecond),
                    results.median("original", Measurement::operationsPerSecond),
                    "lock, SADD, HINCRBY, DEL"));
            run.row(Row.compared(
                    "hot keys, unordered source, server CPU",
                    "us",
                    Direction.LOWER,
                    results.median("unordered", Measurement::serverMicros),
                    results.median("original", Measurement::serverMicros),
                    "lock, SADD, HINCRBY, DEL"));
        }
    }

    private static double perCore(Measurement measurement) {
        return measurement.operations() * 1e9 / measurement.clientCpuNanos();
    }

    private static Position at(long[] next) {
        return Position.at("bench", 0, next[0]++);
    }

    private static Position id(long[] next) {
        return Position.id("queue", "message-" + next[0]++);
    }

    private static void add(Aggregates<Visit> visits, List<String> keys, int count, IntFunction<Position> position) {
        for (int i = 0; i < count; i++) {
            visits.add(keys.get(i % keys.size()), ONE, position.apply(i));
        }
        visits.publish();
    }

    /** Keys that come once each: every update is a publish and a leave. */
    private static void cold(Run run) throws Exception {
        run.note("cold keys");
        int count = run.size(200_000, 25_000);
        try (RedisServer server = RedisServer.start();
                ServerCpu cpu = new ServerCpu(server.uri());
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Aggregates<Visit> visits = aggregates(holdfast, "cold").start()) {
            Meter meter = Meter.with(cpu);
            int[] round = new int[1];
            long[] next = new long[1];
            Contest.Results results = new Contest()
                    .add("cold", () -> {
                        List<String> keys = keys("page-" + ++round[0] + "-", count);
                        return meter.measure(count, () -> add(visits, keys, count, i -> at(next)));
                    })
                    .run(3);
            run.row(Row.reported(
                            "cold keys, each once",
                            "1/s",
                            Direction.HIGHER,
                            results.median("cold", Measurement::operationsPerSecond))
                    .goal(20_000));
            run.row(Row.reported(
                    "cold keys, each once, server CPU",
                    "us",
                    Direction.LOWER,
                    results.median("cold", Measurement::serverMicros)));
            run.row(Row.reported(
                    "cold keys, each once, client CPU",
                    "us",
                    Direction.LOWER,
                    results.median("cold", Measurement::clientMicros)));
        }
    }

    /** Four instances, each with a connection of its own, add to the same keys at the same time. */
    private static void fourInstances(Run run) throws Exception {
        run.note("four instances");
        int count = run.size(500_000, 100_000);
        List<String> keys = keys("page-", 100);
        try (RedisServer server = RedisServer.start();
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            List<Holdfast> connections = new ArrayList<>();
            try {
                List<Aggregates<Visit>> instances = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    Holdfast holdfast = Holdfast.builder()
                            .uri(server.uri().toString())
                            .instance("i" + i)
                            .open();
                    connections.add(holdfast);
                    instances.add(aggregates(holdfast, "four").start());
                }
                long[][] next = new long[4][1];
                Contest.Results results = new Contest()
                        .add(
                                "one",
                                () -> meter.measure(count, () -> addAll(instances.subList(0, 1), keys, count, next)))
                        .add("four", () -> meter.measure(4L * count, () -> addAll(instances, keys, count, next)))
                        .run(run.size(5, 3));
                run.row(Row.compared(
                        "hot keys, 4 instances on the same keys",
                        "1/s",
                        Direction.HIGHER,
                        results.median("four", Measurement::operationsPerSecond),
                        results.median("one", Measurement::operationsPerSecond),
                        "1 instance"));
                run.row(Row.compared(
                        "hot keys, 4 instances on the same keys, server CPU",
                        "us",
                        Direction.LOWER,
                        results.median("four", Measurement::serverMicros),
                        results.median("one", Measurement::serverMicros),
                        "1 instance"));
            } finally {
                connections.forEach(Holdfast::close);
            }
        }
    }

    private static void addAll(List<Aggregates<Visit>> instances, List<String> keys, int count, long[][] next)
            throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(instances.size())) {
            List<Future<?>> adding = new ArrayList<>();
            for (int i = 0; i < instances.size(); i++) {
                Aggregates<Visit> visits = instances.get(i);
                int source = i;
                adding.add(threads.submit(
                        () -> add(visits, keys, count, n -> Position.at("bench-" + source, 0, next[source][0]++))));
            }
            for (Future<?> one : adding) {
                one.get();
            }
        }
    }

    private static void closes(Run run) throws Exception {
        int count = run.size(40_000, 6_000);
        Path folder = Files.createTempDirectory("holdfast-bench");
        try (RedisServer server = RedisServer.start();
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Jedis jedis = server.client()) {
            try (HikariDataSource h2 = EmbeddedDatabase.in(folder)) {
                run.note("closes into H2");
                double original = originalCloses(jedis, h2, run.size(4_000, 500));
                run.row(Row.reported("closes into H2", "1/s", Direction.HIGHER, closes(holdfast, h2, "h2", count, run))
                        .goal(4_000));
                run.row(Row.reported("closes into H2, the original's way", "1/s", Direction.HIGHER, original));
            }
            run.note("closes into PostgreSQL");
            try (EmbeddedPostgres postgres = EmbeddedPostgres.start()) {
                DataSource database = postgres.getPostgresDatabase();
                run.row(Row.reported(
                                "closes into PostgreSQL",
                                "1/s",
                                Direction.HIGHER,
                                closes(holdfast, database, "postgres", count, run))
                        .goal(2_000));
            }
        } finally {
            remove(folder);
        }
    }

    private static double originalCloses(Jedis jedis, DataSource database, int count) throws Exception {
        OriginalReferences.makeTable(database);
        OriginalReferences original = new OriginalReferences(jedis);
        List<String> keys = keys("original-", count);
        keys.forEach(key -> original.update(key, 1));
        long begin = System.nanoTime();
        try (Connection connection = database.getConnection()) {
            for (String key : keys) {
                original.close(key, connection);
            }
        }
        return count * 1e9 / (System.nanoTime() - begin);
    }

    /** Epochs a second from the end of all of them until the last row is there; the median of some rounds. */
    private static double closes(Holdfast holdfast, DataSource database, String name, int count, Run run)
            throws Exception {
        try (Aggregates<Visit> visits = aggregates(holdfast, name)
                .set(AggregateSettings.TABLE, 2 * count)
                .sink(JdbcSink.to(database))
                .start()) {
            int rounds = run.size(3, 1);
            double[] rates = new double[rounds];
            for (int round = 0; round <= rounds; round++) {
                for (String key : keys("page-" + round + "-", count)) {
                    visits.add(key, ONE);
                }
                visits.publish();
                LockSupport.parkNanos(LEASE.plusMillis(500).toNanos()); // a new set is quiet for one lease
                long wanted = (long) count * (round + 1);
                long begin = System.nanoTime();
                visits.endAll();
                while (visits.figures().flushed() < wanted) {
                    LockSupport.parkNanos(1_000_000);
                }
                if (round > 0) {
                    rates[round - 1] = count * 1e9 / (System.nanoTime() - begin);
                }
                require(rows(database, name) == wanted, rows(database, name) + " rows of " + wanted);
            }
            return Contest.median(rates);
        }
    }

    private static long rows(DataSource database, String name) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select count(*) from holdfast_" + name)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** What goes to Redis for a million updates over a thousand keys. */
    private static void traffic(Run run) throws Exception {
        run.note("traffic");
        int count = run.size(1_000_000, 200_000);
        try (RedisServer server = RedisServer.start();
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Aggregates<Visit> visits = aggregates(holdfast, "traffic").start()) {
            long[] next = new long[1];
            long commands = stat(server, "total_commands_processed");
            long in = stat(server, "total_net_input_bytes");
            long out = stat(server, "total_net_output_bytes");
            add(visits, keys("page-", 1_000), count, i -> at(next));
            double perMillion = 1_000_000.0 / count;
            report(run, "commands", "1", (stat(server, "total_commands_processed") - commands) * perMillion);
            report(run, "bytes sent", "bytes", (stat(server, "total_net_input_bytes") - in) * perMillion);
            report(run, "bytes received", "bytes", (stat(server, "total_net_output_bytes") - out) * perMillion);
        }
    }

    private static void report(Run run, String what, String unit, double value) {
        run.row(Row.reported(
                "1M updates over 1,000 keys, " + what + " (commands of scripts included)",
                unit,
                Direction.LOWER,
                value));
    }

    private static long stat(RedisServer server, String name) {
        return Long.parseLong(server.info("stats").getOrDefault(name, "0"));
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static void remove(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
