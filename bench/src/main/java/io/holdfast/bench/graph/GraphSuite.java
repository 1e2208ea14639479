package io.holdfast.bench.graph;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.Suite;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.testkit.RedisServer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.FlushMode;

/**
 * The value graph beside raw SET, and beside the three-key layout. What is compared is the CPU time of the server, which
 * all clients share and no client can buy more of.
 */
public final class GraphSuite implements Suite {

    private static final int FAN_OUT = 10;
    private static final int VALUE_BYTES = 100;
    /** Path copies that a client sends before it waits for an answer, as a writer with a stream of edits does. */
    private static final int TOGETHER = 50;

    private static final String OURS = "holdfast";
    private static final String RAW = "raw SET";
    private static final String PEER = "three keys";

    @Override
    public String name() {
        return "graph";
    }

    @Override
    public String description() {
        return "values put, copied and reclaimed: server CPU, longest call, memory";
    }

    @Override
    public void measure(Run run) throws Exception {
        try (RedisServer server = RedisServer.start()) {
            String allocator = String.valueOf(server.info("memory").get("mem_allocator"));
            run.note("server: Redis " + server.info("server").get("redis_version") + " with the allocator " + allocator
                    + (allocator.startsWith("libc")
                            ? ", which takes the kernel's pages anew for every step; --server measures another"
                            : ""));
            trees(run, server);
            pathCopies(run, server);
            longestCalls(run, server);
            pings(run, server);
            idle(run, server);
        }
    }

    /** What one layout did in one round. */
    private record Round(Measurement build, double bytesAValue, Measurement drop, double stallMillis) {}

    private void trees(Run run, RedisServer server) throws Exception {
        Tree tree = Tree.of(run.size(6, 5), FAN_OUT, VALUE_BYTES);
        run.note(tree.size() + " values: put, count the memory, drop");
        Map<String, List<Round>> rounds = new LinkedHashMap<>();
        try (ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            List<String> turns = new ArrayList<>(List.of(OURS, RAW, PEER));
            for (int round = 0; round <= run.size(7, 3); round++) {
                for (String turn : turns) {
                    Round measured = round(server, meter, turn, tree);
                    if (round > 0) {
                        rounds.computeIfAbsent(turn, key -> new ArrayList<>()).add(measured);
                    }
                }
                Collections.rotate(turns, -1);
            }
        }
        ToDoubleFunction<Round> build = round -> round.build().serverMicros();
        ToDoubleFunction<Round> memory = Round::bytesAValue;
        ToDoubleFunction<Round> drain = round -> 1e6 / round.drop().serverMicros();
        run.row(compared("build: server CPU", "us/value", Direction.LOWER, rounds, RAW, build)
                .goal(1.5));
        run.row(compared("build: server CPU", "us/value", Direction.LOWER, rounds, PEER, build));
        run.row(compared("drain: values per server-CPU-second", "1/s", Direction.HIGHER, rounds, PEER, drain)
                .goal(2));
        run.row(Row.compared(
                        "the same in the quietest round of each",
                        "1/s",
                        Direction.HIGHER,
                        highest(rounds, OURS, drain),
                        highest(rounds, PEER, drain),
                        PEER)
                .goal(2));
        run.row(compared("drop: longest stall", "ms", Direction.LOWER, rounds, PEER, Round::stallMillis));
        run.row(Row.reported("memory per value", "B", Direction.LOWER, median(rounds, OURS, memory))
                .goal(300));
        run.row(compared("memory per value", "B", Direction.LOWER, rounds, RAW, memory));
        run.row(compared("memory per value", "B", Direction.LOWER, rounds, PEER, memory));
    }

    private static Round round(RedisServer server, Meter meter, String turn, Tree tree) throws Exception {
        clear(server);
        server.config("slowlog-log-slower-than", "1000");
        try (Layout layout = layout(server, turn)) {
            long before = usedMemory(server);
            Measurement build = meter.measure(tree.size(), () -> layout.build(tree));
            double bytes = (usedMemory(server) - before) / (double) tree.size();
            if (!(layout instanceof Layout.Counting counting)) {
                return new Round(build, bytes, build, 0);
            }
            try (Jedis redis = server.client()) {
                redis.slowlogReset();
            }
            Measurement drop = meter.measure(tree.size(), counting::drop);
            double stall = server.slowlog().stream()
                            .filter(entry -> entry.getArgs().getFirst().equalsIgnoreCase("EVALSHA"))
                            .mapToLong(entry -> entry.getExecutionTime())
                            .max()
                            .orElse(1_000)
                    / 1e3;
            return new Round(build, bytes, drop, stall);
        }
    }

    /** Also of what scripts left behind: the server would go on collecting a layout's garbage at the cost of the next one. */
    private static void clear(RedisServer server) {
        server.flush();
        try (Jedis redis = server.client()) {
            redis.scriptFlush(FlushMode.SYNC);
        }
    }

    private static Layout layout(RedisServer server, String name) {
        return switch (name) {
            case OURS -> new GraphLayout(server.uri(), server.client());
            case RAW -> new RawSets(server.client());
            default -> new ThreeKeys(server.client());
        };
    }

    private void pathCopies(Run run, RedisServer server) throws Exception {
        int copies = run.size(2_000, 200);
        run.note(copies + " path copies: 5 new values over 45 that exist");
        Tree tree = Tree.of(6, FAN_OUT, VALUE_BYTES);
        clear(server);
        try (ServerCpu cpu = new ServerCpu(server.uri());
                RedisServer other = RedisServer.start();
                ServerCpu otherCpu = new ServerCpu(other.uri());
                Layout.Counting ours = new GraphLayout(server.uri(), server.client());
                Layout.Counting peer = new ThreeKeys(other.client())) {
            ours.build(tree);
            peer.build(tree);
            Copying copying = (name, work) -> copyRow(
                    name,
                    new Contest()
                            .add(OURS, () -> Meter.with(cpu).measure(copies, () -> work.accept(ours)))
                            .add(PEER, () -> Meter.with(otherCpu).measure(copies, () -> work.accept(peer)))
                            .run(run.size(7, 3)));
            Row moved = copying.row("path copy, root moved, old path reclaimed", it -> it.movePaths(copies));
            // Of versions that go together, a later one has children of an earlier one among those that exist.
            run.row(copying.row("path copy: copies per server-CPU-second", it -> it.nextVersions(copies, TOGETHER))
                    .goal(2));
            run.row(copying.row("path copy, each sent alone", it -> it.nextVersions(copies, 1)));
            run.row(moved);
            run.row(copying.row("path copies of one and the same version", it -> it.copyPaths(copies, TOGETHER)));
        }
    }

    /** A row about something that both layouts do with their trees. */
    private interface Copying {
        Row row(String name, Consumer<Layout.Counting> work) throws Exception;
    }

    private static Row copyRow(String name, Contest.Results results) {
        ToDoubleFunction<Measurement> perSecond = measurement -> 1e6 / measurement.serverMicros();
        return Row.compared(
                name, "1/s", Direction.HIGHER, results.median(OURS, perSecond), results.median(PEER, perSecond), PEER);
    }

    private void longestCalls(Run run, RedisServer server) throws Exception {
        clear(server);
        try (LongestCall calls = new LongestCall(server);
                Shapes shapes = new Shapes(server, calls)) {
            Map<String, Supplier<Shapes.Shape>> all = new LinkedHashMap<>();
            all.put("tree", () -> shapes.tree(Tree.of(run.size(6, 4), FAN_OUT, VALUE_BYTES)));
            all.put("tree of ten times as many", () -> shapes.tree(Tree.of(run.size(7, 5), FAN_OUT, VALUE_BYTES)));
            all.put("chain", () -> shapes.chain(run.size(1_000_000, 5_000)));
            all.put("one value with many children", () -> shapes.fan(run.size(200_000, 5_000)));
            all.put("diamonds", () -> shapes.diamonds(run.size(50, 3), 200));
            all.put("chain of wide families", () -> shapes.families(run.size(200, 5), 255));
            all.put("64 MB value", () -> shapes.oneValue(64 << 20));
            all.put("values of 250 KiB as children", () -> shapes.largeChildren(run.size(1_000, 20), 250 << 10));
            all.put("values in chunks as children", () -> shapes.largeChildren(run.size(1_000, 20), 300 << 10));
            int many = run.size(1_111_111, 11_111);
            run.note("longest call: a plain hash of " + many + " values");
            try (Jedis redis = server.client()) {
                PlainHash plain = new PlainHash(redis, calls);
                List<PlainHash.Seen> rounds = fiveTimes(() -> plain.measure(many, VALUE_BYTES));
                longest(run, "yardstick: longest plain HSET of 256", median(rounds, PlainHash.Seen::setting));
                longest(run, "yardstick: longest plain HDEL of 256", median(rounds, PlainHash.Seen::deleting));
            }
            for (Map.Entry<String, Supplier<Shapes.Shape>> shape : all.entrySet()) {
                run.note("longest call: " + shape.getKey());
                Shapes.Shape one = shape.getValue().get();
                longestCalls(run, shape.getKey(), fiveTimes(() -> shapes.measure(one)));
            }
        }
    }

    /** A machine that takes the server's core away in the middle of a call spoils one round, or one stretch, not the figure. */
    private static void longestCalls(Run run, String shape, List<Shapes.Seen> rounds) {
        ToDoubleFunction<Shapes.Seen> reclaiming = Shapes.Seen::reclaiming;
        double quietest = rounds.stream().mapToDouble(reclaiming).min().orElseThrow();
        double recurring =
                Course.recurring(rounds.stream().map(Shapes.Seen::course).toList());
        bounded(run, "longest step: " + shape, median(rounds, reclaiming));
        bounded(run, "the same in the quietest of five rounds: " + shape, quietest);
        bounded(run, "the same where it recurs in most rounds: " + shape, recurring);
        bounded(run, "the same but for one in a thousand: " + shape, median(rounds, Shapes.Seen::most));
        longest(run, "yardstick: longest of as many calls that touch nothing", median(rounds, Shapes.Seen::nothing));
        longest(run, "the same with waiting for a core: " + shape, median(rounds, Shapes.Seen::reclaimingByTheWall));
        bounded(run, "longest call while putting: " + shape, median(rounds, Shapes.Seen::putting));
    }

    private static void longest(Run run, String name, double millis) {
        run.row(Row.reported(name, "ms", Direction.LOWER, millis));
    }

    private static void bounded(Run run, String name, double millis) {
        run.row(Row.reported(name, "ms", Direction.LOWER, millis).goal(2));
    }

    private static <T> List<T> fiveTimes(Supplier<T> measuring) {
        List<T> rounds = new ArrayList<>();
        for (int round = 0; round < 5; round++) {
            rounds.add(measuring.get());
        }
        return rounds;
    }

    private static <T> double median(List<T> rounds, ToDoubleFunction<T> figure) {
        return Contest.median(rounds.stream().mapToDouble(figure).toArray());
    }

    private void pings(Run run, RedisServer server) throws Exception {
        Tree tree = Tree.of(run.size(7, 6), FAN_OUT, VALUE_BYTES);
        run.note("PING by another client while " + tree.size() + " values drain");
        clear(server);
        try (GraphLayout layout = new GraphLayout(server.uri(), server.client());
                RedisServer idle = RedisServer.start()) {
            layout.build(tree);
            try (Pings pings = new Pings(server);
                    Pings idlePings = new Pings(idle)) {
                layout.drop();
                double p99 = pings.stop();
                run.row(Row.reported("PING p99 while draining", "ms", Direction.LOWER, p99)
                        .goal(5));
                run.row(Row.compared(
                        "PING p99 while draining",
                        "ms",
                        Direction.LOWER,
                        p99,
                        idlePings.stop(),
                        "idle server, same machine and time"));
            }
        }
    }

    private void idle(Run run, RedisServer server) throws Exception {
        int seconds = run.size(20, 4);
        run.note("an idle client for " + seconds + " s");
        clear(server);
        try (Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Jedis redis = server.client()) {
            holdfast.graph("bench");
            run.row(Row.reported("idle client", "calls/s", Direction.LOWER, callsPerSecond(redis, seconds))
                    .goal(1));
            try (var writer = holdfast.graph("bench").writer()) {
                holdfast.graph("bench").root("main").set(writer.put(new byte[0]));
            }
            try (Snapshot snapshot = holdfast.graph("bench").snapshot("main")) {
                run.row(Row.reported(
                        "idle client with a snapshot", "calls/s", Direction.LOWER, callsPerSecond(redis, seconds)));
                snapshot.get(snapshot.target());
            }
        }
    }

    private static double callsPerSecond(Jedis redis, int seconds) throws InterruptedException {
        TimeUnit.SECONDS.sleep(1);
        long before = commands(redis);
        TimeUnit.SECONDS.sleep(seconds);
        return (commands(redis) - before) / (double) seconds;
    }

    private static long commands(Jedis redis) {
        // Every call of a duty is a script; what scripts call is counted by other names.
        return redis.info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_evalsha:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf("calls=") + 6, line.indexOf(','))))
                .sum();
    }

    private static long usedMemory(RedisServer server) {
        return Long.parseLong(String.valueOf(server.info("memory").get("used_memory")));
    }

    private static double median(Map<String, List<Round>> rounds, String layout, ToDoubleFunction<Round> figure) {
        return median(rounds.getOrDefault(layout, List.of()), figure);
    }

    private static double highest(Map<String, List<Round>> rounds, String layout, ToDoubleFunction<Round> figure) {
        return rounds.getOrDefault(layout, List.of()).stream()
                .mapToDouble(figure)
                .max()
                .orElseThrow();
    }

    private static Row compared(
            String name,
            String unit,
            Direction direction,
            Map<String, List<Round>> rounds,
            String peer,
            ToDoubleFunction<Round> figure) {
        return Row.compared(name, unit, direction, median(rounds, OURS, figure), median(rounds, peer, figure), peer);
    }
}
