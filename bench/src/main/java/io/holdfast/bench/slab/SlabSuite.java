package io.holdfast.bench.slab;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.Suite;
import io.holdfast.slab.SlabCache;
import io.holdfast.testkit.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * The slab cache beside Caffeine, Chronicle Map, Ehcache off-heap, OHC and the raw limit: each in a JVM of its own, by
 * turns. Speeds are operations per CPU-second of the threads that call, so that a busy machine does not count; the
 * collector's and compiler's own threads are left out, which favours the heap. What waits for a lock uses no CPU, so rows by
 * the clock stand beside them: these want a machine with nothing else to do.
 */
public final class SlabSuite implements Suite {

    private static final String CPU = "cpu";
    private static final String BY_THE_CLOCK = "wall";
    private static final String PROCESSES = "processes";
    private static final String LATENCY = "latency";
    private static final String LARGE = "large";
    private static final String HITS = "hits";

    private static final List<Integer> WALL = List.of(1, 2, 4, 8);
    private static final int PROCESSES_MOST = 4;

    private static final List<String> FLAGS = List.of(
            "-Xmx2g",
            "-XX:TieredStopAtLevel=4",
            "-Dchronicle.analytics.disable=true",
            "-Dchronicle.announcer.disable=true",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
            "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
            "--add-opens=java.base/java.io=ALL-UNNAMED",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-opens=java.base/java.util=ALL-UNNAMED");

    @Override
    public String name() {
        return "slab";
    }

    @Override
    public String description() {
        return "a cache in shared memory: gets, puts, scaling, latency, memory, hit ratios";
    }

    @Override
    public Set<String> parts() {
        return Set.of(CPU, BY_THE_CLOCK, PROCESSES, LATENCY, LARGE, HITS);
    }

    @Override
    public void measure(Run run) throws Exception {
        List<Trace> traces = HitRatios.given(run);
        Path folder = Files.createTempDirectory(sharedMemory(), "holdfast-bench-");
        try {
            if (Stream.of(CPU, BY_THE_CLOCK, PROCESSES, LATENCY, LARGE).anyMatch(run::includes)) {
                speeds(run, folder);
            }
            if (run.includes(HITS)) {
                HitRatios.measure(run, folder, traces);
            }
        } finally {
            delete(folder);
        }
    }

    private static Path sharedMemory() {
        Path shared = Path.of("/dev/shm");
        return Files.isWritable(shared) ? shared : Path.of(System.getProperty("java.io.tmpdir"));
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }

    /** A contender's JVM. */
    private record Peer(CachePeer.Kind kind, ChildJvm jvm) {

        String ask(String line) {
            jvm.send(line);
            return answer();
        }

        String answer() {
            return jvm.awaitLine(line -> line.startsWith("= ")).substring(2);
        }

        double number(String line) {
            return Double.parseDouble(ask(line));
        }
    }

    private static Peer start(CachePeer.Kind kind, Path folder, long bytes, int keys, int seed) {
        return new Peer(
                kind,
                ChildJvm.of(PeerMain.class)
                        .options(FLAGS.toArray(String[]::new))
                        .arguments(kind, folder.resolve("bench"), bytes, keys, seed)
                        .start());
    }

    private static boolean isNeeded(CachePeer.Kind kind, Run run) {
        return kind == CachePeer.Kind.HOLDFAST
                || run.includes(CPU)
                || (run.includes(BY_THE_CLOCK) && kind.hasWallRows())
                || (run.includes(LATENCY) && (kind.hasWallRows() || kind == CachePeer.Kind.CAFFEINE))
                || (run.includes(LARGE) && kind.takesLargeValues());
    }

    private static void speeds(Run run, Path folder) {
        long bytes = SlabCache.mebibytes(run.size(256, 32));
        int keys = run.size(1_000_000, 125_000);
        int requests = run.size(2_000_000, 200_000);
        int operations = run.size(200_000, 60_000);
        int rounds = run.size(11, 3);
        Map<CachePeer.Kind, Peer> peers = new EnumMap<>(CachePeer.Kind.class);
        Map<String, List<Double>> figures = new java.util.LinkedHashMap<>();
        try {
            Map<CachePeer.Kind, Double> ratios = new EnumMap<>(CachePeer.Kind.class);
            for (CachePeer.Kind kind : CachePeer.Kind.values()) {
                if (!isNeeded(kind, run)) {
                    continue;
                }
                run.note("filling " + kind);
                try {
                    peers.put(kind, start(kind, folder, bytes, keys, 7));
                    ratios.put(kind, peers.get(kind).number("fill " + requests));
                } catch (AssertionError e) {
                    run.note(kind + " does not run here: " + e.getMessage());
                    Peer failed = peers.remove(kind);
                    if (failed != null) {
                        failed.jvm.close();
                    }
                }
            }
            List<Peer> turns = new ArrayList<>(peers.values());
            if (run.includes(CPU)) {
                rounds(run, turns, List.of("get 1", "put 1"), operations, rounds, figures);
                rounds(run, turns, List.of("get 2", "put 2"), operations, rounds, figures);
                twoProcesses(folder, bytes, keys, operations, rounds, peers, figures);
                speedRows(run, peers, figures);
                row(run, "cold hit ratio, zipf", "part", ratios, CachePeer.Kind.CAFFEINE);
                row(run, "cold hit ratio, zipf", "part", ratios, CachePeer.Kind.OHC);
                row(run, "cold hit ratio, zipf", "part", ratios, CachePeer.Kind.EHCACHE);
            }
            if (run.includes(BY_THE_CLOCK)) {
                wallRounds(run, turns, operations, rounds, figures);
                wallRows(run, peers, figures);
            }
            if (run.includes(PROCESSES)) {
                processRounds(run, folder, bytes, keys, operations, rounds, figures);
                processRows(run, figures);
            }
            Peer holdfast = Objects.requireNonNull(peers.get(CachePeer.Kind.HOLDFAST));
            if (run.includes(LATENCY)) {
                latencyRows(run, peers, operations);
                cpuLatencyRows(run, peers, operations * 4);
                run.row(Row.reported(
                        "longest lock hold, warm JVM",
                        "us",
                        Direction.LOWER,
                        holdfast.number("hold " + operations * 4)));
            }
            factRows(run, holdfast.ask("facts"));
            if (run.includes(LARGE)) {
                // Last: it leaves the caches full of large values.
                turns.removeIf(peer -> !peer.kind.takesLargeValues());
                rounds(run, turns, List.of("large"), operations / 100, rounds, figures);
                largeRows(run, peers, figures);
            }
        } finally {
            peers.values().forEach(peer -> peer.jvm.close());
        }
    }

    /**
     * All that one thread does comes before a second thread has allocated anything: OHC puts a third faster for as long as
     * all of its memory is of one thread's heap.
     */
    private static void rounds(
            Run run,
            List<Peer> turns,
            List<String> commands,
            int operations,
            int rounds,
            Map<String, List<Double>> figures) {
        for (int round = 0; round <= rounds; round++) {
            run.note(String.join(", ", commands) + ": round " + round + " of " + rounds);
            // What is compared is measured within the same second or two, and another contender begins each time.
            for (String what : commands) {
                for (Peer peer : turns) {
                    note(figures, round, peer.kind + " " + what, peer.number(what + " " + operations));
                }
                Collections.rotate(turns, 1);
            }
        }
    }

    /** Two processes on the file of the first, each with one thread. */
    private static void twoProcesses(
            Path folder,
            long bytes,
            int keys,
            int operations,
            int rounds,
            Map<CachePeer.Kind, Peer> peers,
            Map<String, List<Double>> figures) {
        Peer first = Objects.requireNonNull(peers.get(CachePeer.Kind.HOLDFAST));
        Peer second = start(CachePeer.Kind.HOLDFAST, folder, bytes, keys, 8);
        try {
            second.number("fill " + operations);
            for (int round = 0; round <= rounds; round++) {
                first.jvm.send("get 1 " + operations);
                second.jvm.send("get 1 " + operations);
                double both = Double.parseDouble(first.answer()) + Double.parseDouble(second.answer());
                note(figures, round, "processes", both);
            }
        } finally {
            second.jvm.close();
        }
    }

    /** With more threads than processors these show waiting, not scaling. */
    private static void wallRounds(
            Run run, List<Peer> turns, int operations, int rounds, Map<String, List<Double>> figures) {
        List<Peer> offHeap = new ArrayList<>(
                turns.stream().filter(peer -> peer.kind.hasWallRows()).toList());
        for (int threads : WALL) {
            rounds(run, offHeap, List.of("wallget " + threads, "wallput " + threads), operations, rounds, figures);
        }
    }

    /** All processes of the host on one file, each with one thread. */
    private static void processRounds(
            Run run, Path folder, long bytes, int keys, int operations, int rounds, Map<String, List<Double>> figures) {
        List<Peer> processes = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES_MOST; i++) {
                processes.add(start(CachePeer.Kind.HOLDFAST, folder, bytes, keys, 20 + i));
                processes.get(i).number("fill " + operations);
            }
            for (int count = 1; count <= PROCESSES_MOST; count *= 2) {
                for (String what : List.of("wallget", "wallput")) {
                    run.note(what + ", " + count + " processes");
                    for (int round = 0; round <= rounds; round++) {
                        List<Peer> asked = processes.subList(0, count);
                        asked.forEach(peer -> peer.jvm.send(what + " 1 " + operations));
                        double sum = 0;
                        for (Peer peer : asked) {
                            sum += Double.parseDouble(peer.answer());
                        }
                        note(figures, round, what + " processes " + count, sum);
                    }
                }
            }
        } finally {
            processes.forEach(peer -> peer.jvm.close());
        }
    }

    private static void wallRows(Run run, Map<CachePeer.Kind, Peer> peers, Map<String, List<Double>> figures) {
        for (String what : List.of("get", "put")) {
            for (int threads : WALL) {
                String asked = " wall" + what + " " + threads;
                double best = Stream.of(CachePeer.Kind.OHC, CachePeer.Kind.CHRONICLE)
                        .filter(peers::containsKey)
                        .mapToDouble(kind -> median(figures, kind + asked))
                        .max()
                        .orElse(Double.NaN);
                for (CachePeer.Kind kind : List.of(CachePeer.Kind.OHC, CachePeer.Kind.CHRONICLE, CachePeer.Kind.RAW)) {
                    if (peers.containsKey(kind)) {
                        Row row = Row.compared(
                                what + " by the clock, threads: " + threads,
                                "M/s",
                                Direction.HIGHER,
                                median(figures, CachePeer.Kind.HOLDFAST + asked),
                                median(figures, kind + asked),
                                label(kind));
                        boolean goal = what.equals("put") && threads <= 2 && median(figures, kind + asked) == best;
                        run.row(goal ? row.goal(threads == 1 ? 1.2 : 1.5) : row);
                    }
                }
            }
        }
    }

    private static void processRows(Run run, Map<String, List<Double>> figures) {
        for (String what : List.of("get", "put")) {
            for (int count = 2; count <= PROCESSES_MOST; count *= 2) {
                run.row(Row.compared(
                        what + " by the clock, processes: " + count,
                        "M/s",
                        Direction.HIGHER,
                        median(figures, "wall" + what + " processes " + count),
                        median(figures, "wall" + what + " processes 1"),
                        "one process"));
            }
        }
    }

    private static void largeRows(Run run, Map<CachePeer.Kind, Peer> peers, Map<String, List<Double>> figures) {
        for (CachePeer.Kind kind : List.of(CachePeer.Kind.OHC, CachePeer.Kind.EHCACHE)) {
            if (peers.containsKey(kind)) {
                run.row(Row.compared(
                                "put of 33 to 256 KiB",
                                "k/CPU-s",
                                Direction.HIGHER,
                                median(figures, CachePeer.Kind.HOLDFAST + " large"),
                                median(figures, kind + " large"),
                                label(kind))
                        .goal(1));
            }
        }
    }

    private static void note(Map<String, List<Double>> figures, int round, String name, double figure) {
        if (round > 0) {
            figures.computeIfAbsent(name, key -> new ArrayList<>()).add(figure);
        }
    }

    private static double median(Map<String, List<Double>> figures, String name) {
        return Contest.median(figures.getOrDefault(name, List.of(Double.NaN)).stream()
                .mapToDouble(Double::doubleValue)
                .toArray());
    }

    private static void row(
            Run run, String name, String unit, Map<CachePeer.Kind, Double> figures, CachePeer.Kind baseline) {
        if (figures.containsKey(baseline)) {
            run.row(Row.compared(
                    name,
                    unit,
                    Direction.HIGHER,
                    Objects.requireNonNull(figures.get(CachePeer.Kind.HOLDFAST)),
                    Objects.requireNonNull(figures.get(baseline)),
                    label(baseline)));
        }
    }

    private static String label(CachePeer.Kind kind) {
        return kind.name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ');
    }

    private static void speedRows(Run run, Map<CachePeer.Kind, Peer> peers, Map<String, List<Double>> figures) {
        String unit = "M/CPU-s";
        for (String what : List.of("get 1", "get 2", "put 1", "put 2")) {
            String name = what.substring(0, 3) + ", " + (what.endsWith("1") ? "one thread" : "two threads");
            boolean get = what.startsWith("get");
            ToDoubleFunction<CachePeer.Kind> figure = kind -> median(figures, kind + " " + what);
            double best = peers.keySet().stream()
                    .filter(kind -> kind == CachePeer.Kind.EHCACHE
                            || kind == CachePeer.Kind.OHC
                            || (!get && kind == CachePeer.Kind.CHRONICLE))
                    .mapToDouble(figure)
                    .max()
                    .orElse(Double.NaN);
            for (CachePeer.Kind kind : peers.keySet()) {
                if (kind == CachePeer.Kind.HOLDFAST) {
                    continue;
                }
                Row row = Row.compared(
                        name,
                        unit,
                        Direction.HIGHER,
                        figure.applyAsDouble(CachePeer.Kind.HOLDFAST),
                        figure.applyAsDouble(kind),
                        label(kind));
                boolean isBest = figure.applyAsDouble(kind) == best;
                run.row(get && kind == CachePeer.Kind.RAW ? row.goal(0.9) : isBest ? row.goal(1) : row);
            }
        }
        double one = median(figures, CachePeer.Kind.HOLDFAST + " get 1");
        run.row(Row.compared(
                        "get scales, two threads",
                        unit,
                        Direction.HIGHER,
                        median(figures, CachePeer.Kind.HOLDFAST + " get 2"),
                        one,
                        "one thread")
                .goal(1.6));
        run.row(Row.compared(
                        "get scales, two processes",
                        unit,
                        Direction.HIGHER,
                        median(figures, "processes"),
                        one,
                        "one process")
                .goal(1.6));
    }

    private static void latencyRows(Run run, Map<CachePeer.Kind, Peer> peers, int operations) {
        Map<CachePeer.Kind, String[]> latencies = new EnumMap<>(CachePeer.Kind.class);
        for (CachePeer.Kind kind : List.of(CachePeer.Kind.HOLDFAST, CachePeer.Kind.CAFFEINE, CachePeer.Kind.OHC)) {
            Peer peer = peers.get(kind);
            if (peer != null) {
                latencies.put(kind, peer.ask("latency " + operations * 2).split(" ", -1));
            }
        }
        String[] own = Objects.requireNonNull(latencies.remove(CachePeer.Kind.HOLDFAST));
        latencies.forEach((kind, figures) -> {
            for (int i = 0; i < 2; i++) {
                run.row(Row.compared(
                        "p99.9 of " + (i == 0 ? "get" : "put"),
                        "us",
                        Direction.LOWER,
                        Double.parseDouble(own[i]),
                        Double.parseDouble(figures[i]),
                        label(kind)));
            }
        });
    }

    /** No hold of the lock is longer than the put that it is part of. */
    private static void cpuLatencyRows(Run run, Map<CachePeer.Kind, Peer> peers, int operations) {
        for (CachePeer.Kind kind :
                List.of(CachePeer.Kind.HOLDFAST, CachePeer.Kind.RAW, CachePeer.Kind.OHC, CachePeer.Kind.CHRONICLE)) {
            Peer peer = peers.get(kind);
            if (peer == null) {
                continue;
            }
            boolean own = kind == CachePeer.Kind.HOLDFAST;
            String[] figures = peer.ask("cpu " + operations).split(" ", -1);
            String of = own ? "" : ", " + label(kind);
            Row most =
                    Row.reported("p99.9 of put, CPU time" + of, "us", Direction.LOWER, Double.parseDouble(figures[0]));
            Row longest =
                    Row.reported("longest put, CPU time" + of, "us", Direction.LOWER, Double.parseDouble(figures[1]));
            run.row(own ? most.goal(25) : most);
            run.row(own ? longest.goal(200) : longest);
        }
    }

    private static double number(Map<String, String> named, String name) {
        return Double.parseDouble(named.getOrDefault(name, "NaN"));
    }

    private static void factRows(Run run, String facts) {
        Map<String, String> named = new java.util.HashMap<>();
        for (String fact : facts.split(" ", -1)) {
            named.put(fact.substring(0, fact.indexOf('=')), fact.substring(fact.indexOf('=') + 1));
        }
        run.row(Row.reported(
                "longest lock hold, from the first put on", "us", Direction.LOWER, number(named, "longestHoldMicros")));
        run.row(Row.compared(
                        "most values evicted by a put",
                        "values",
                        Direction.LOWER,
                        number(named, "mostEvicted"),
                        number(named, "mostPerPage"),
                        "values of a page")
                .goal(1));
        run.row(Row.reported(
                        "memory lost to tables, headers' slack and fragments",
                        "part",
                        Direction.LOWER,
                        number(named, "overhead"))
                .goal(0.15));
        run.row(Row.reported(
                        "audit is clean after all of it",
                        "1 = yes",
                        Direction.HIGHER,
                        "true".equals(named.get("clean")) ? 1 : 0)
                .goal(1));
    }
}
