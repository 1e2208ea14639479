package io.holdfast.bench.slab;

import io.holdfast.bench.Meter;
import io.holdfast.testkit.ChildJvm;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.HdrHistogram.Histogram;

/**
 * One contender in a JVM of its own, with the flags it needs and a compiler that has seen nothing else. It does what
 * its standard input says, and answers each line with one.
 *
 * <pre>
 *   fill REQUESTS           get, on a miss put         -> hit ratio
 *   get THREADS OPERATIONS  of keys that are there     -> million operations per CPU-second, summed over the threads
 *   put THREADS OPERATIONS                             -> the same
 *   wallget, wallput THREADS OPERATIONS                -> million operations per second of the clock, all threads together
 *   large OPERATIONS        puts of 33 to 256 KiB      -> thousand operations per CPU-second
 *   latency OPERATIONS      one thread                 -> p99.9 of get and put in microseconds
 *   cpu OPERATIONS          one thread                 -> p99.9 and longest of put, CPU time of the thread in microseconds
 *   hold OPERATIONS         a new cache in this JVM    -> longest hold of its lock in microseconds, where there is one
 *   facts
 * </pre>
 */
final class PeerMain {

    private static final int CROWD = 8;
    private static final int LARGE_SIZES = 16;
    private static final long LARGE_KEYS = 1L << 40;

    private final CachePeer peer;
    private final Workload workload;
    private final boolean byRank;
    /**
     * The second thread; the first is the one that fills. They are the same all the time: the C library gives each thread a
     * heap of its own, and a peer that allocates from it pays for values that another thread allocated.
     */
    private final ExecutorService second = Executors.newSingleThreadExecutor();

    private final ExecutorService crowd = Executors.newFixedThreadPool(CROWD);

    private final byte[][] values = Workload.values();
    /** What was read goes here, so that reading it cannot be optimised away. */
    @SuppressWarnings({"unused", "UnusedVariable"})
    private static volatile int sink;

    private PeerMain(CachePeer peer, Workload workload, boolean byRank) {
        this.peer = peer;
        this.workload = workload;
        this.byRank = byRank;
    }

    public static void main(String[] arguments) throws Exception {
        CachePeer.Kind kind = CachePeer.Kind.valueOf(arguments[0]);
        int keys = Integer.parseInt(arguments[3]);
        try (CachePeer peer = kind.open(Path.of(arguments[1]), Long.parseLong(arguments[2]), keys)) {
            PeerMain main = new PeerMain(
                    peer, new Workload(keys, Long.parseLong(arguments[4])), kind == CachePeer.Kind.RAW_BY_RANK);
            ChildJvm.sayReady();
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            String line;
            while ((line = lines.readLine()) != null && !line.equals("end")) {
                ChildJvm.say("= " + main.answer(line.split(" ")));
            }
        }
        System.exit(0);
    }

    private String answer(String[] words) throws Exception {
        return switch (words[0]) {
            case "fill" -> number(fill(Integer.parseInt(words[1])));
            case "get" -> number(rate(words, true));
            case "put" -> number(rate(words, false));
            case "wallget" -> number(wall(words, true));
            case "wallput" -> number(wall(words, false));
            case "large" -> number(large(Integer.parseInt(words[1])));
            case "latency" -> latency(Integer.parseInt(words[1]));
            case "cpu" -> cpu(Integer.parseInt(words[1]));
            case "hold" -> number(longestHold(Integer.parseInt(words[1])));
            case "facts" -> peer.facts();
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.6f", value);
    }

    private double fill(int requests) {
        if (!peer.evicts()) {
            for (int key : workload.mostPopular(peer.keysMost(), byRank)) {
                peer.put(key, values[Workload.lengthOf(key)]);
            }
        }
        int hits = 0;
        for (int i = 0; i < requests; i++) {
            int key = workload.next();
            if (peer.get(key) != null) {
                hits++;
            } else {
                peer.put(key, values[Workload.lengthOf(key)]);
            }
        }
        return (double) hits / requests;
    }

    private int[] present(int operations) {
        int[] stream = new int[operations];
        for (int i = 0; i < operations; ) {
            int key = workload.next();
            if (peer.get(key) != null) {
                stream[i++] = key;
            }
        }
        return stream;
    }

    private double rate(String[] words, boolean get) throws Exception {
        int threads = Integer.parseInt(words[1]);
        if (threads < 1 || threads > 2) {
            throw new IllegalArgumentException(threads + " threads");
        }
        int operations = Integer.parseInt(words[2]);
        int[][] streams = new int[threads][];
        for (int i = 0; i < threads; i++) {
            streams[i] = get || !peer.evicts() ? present(operations) : workload.stream(operations);
        }
        CyclicBarrier together = new CyclicBarrier(threads);
        Future<Double> other = threads == 1 ? null : second.submit(() -> rate(streams[1], get, together));
        double rate = rate(streams[0], get, together);
        return other == null ? rate : rate + other.get();
    }

    private double rate(int[] stream, boolean get, CyclicBarrier together) throws Exception {
        together.await();
        long begin = Meter.threadCpuNanos();
        if (get) {
            getAll(stream);
        } else {
            putAll(stream);
        }
        return stream.length * 1e3 / (Meter.threadCpuNanos() - begin);
    }

    /** By the clock, waiting included, from when all threads are there until the last one is done. */
    private double wall(String[] words, boolean get) throws Exception {
        int threads = Integer.parseInt(words[1]);
        if (threads < 1 || threads > CROWD) {
            throw new IllegalArgumentException(threads + " threads");
        }
        int operations = Integer.parseInt(words[2]) / threads;
        int[][] streams = new int[threads][];
        for (int i = 0; i < threads; i++) {
            streams[i] = get || !peer.evicts() ? present(operations) : workload.stream(operations);
        }
        CyclicBarrier together = new CyclicBarrier(threads + 1);
        List<Future<?>> done = new ArrayList<>();
        for (int[] stream : streams) {
            done.add(crowd.submit(() -> {
                together.await();
                if (get) {
                    getAll(stream);
                } else {
                    putAll(stream);
                }
                return null;
            }));
        }
        together.await();
        long begin = System.nanoTime();
        for (Future<?> one : done) {
            one.get();
        }
        return (double) operations * threads * 1e3 / (System.nanoTime() - begin);
    }

    private double large(int operations) {
        byte[][] sizes = new byte[LARGE_SIZES][];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = new byte[(33 << 10) + i * ((256 - 33) << 10) / (sizes.length - 1)];
        }
        int[] stream = workload.stream(operations);
        long begin = Meter.threadCpuNanos();
        for (int key : stream) {
            peer.put(LARGE_KEYS + key, sizes[key % sizes.length]);
        }
        return operations * 1e6 / (Meter.threadCpuNanos() - begin);
    }

    private void getAll(int[] stream) {
        int sum = 0;
        for (int key : stream) {
            byte[] value = peer.get(key);
            sum += value == null ? 0 : value[value.length - 1];
        }
        sink = sum;
    }

    private void putAll(int[] stream) {
        for (int key : stream) {
            peer.put(key, values[Workload.lengthOf(key)]);
        }
    }

    /** The code is compiled by now: what is left is the work of a put, and what the machine does to it. */
    private double longestHold(int operations) {
        try (CachePeer fresh = peer.another()) {
            for (int i = 0; i < operations; i++) {
                int key = workload.next();
                if (fresh.get(key) == null || i % 4 == 0) {
                    fresh.put(key, values[Workload.lengthOf(key)]);
                }
            }
            return fresh.longestHoldMicros();
        }
    }

    private String latency(int operations) {
        Histogram gets = new Histogram(3);
        Histogram puts = new Histogram(3);
        int sum = 0;
        for (int i = 0; i < operations; i++) {
            int key = workload.next();
            long begin = System.nanoTime();
            byte[] value = peer.get(key);
            long between = System.nanoTime();
            gets.recordValue(between - begin);
            sum += value == null ? 0 : value.length;
            if (value == null || i % 4 == 0) {
                long before = System.nanoTime();
                peer.put(key, values[Workload.lengthOf(key)]);
                puts.recordValue(System.nanoTime() - before);
            }
        }
        sink = sum;
        return number(gets.getValueAtPercentile(99.9) / 1e3) + " " + number(puts.getValueAtPercentile(99.9) / 1e3);
    }

    /** What the scheduler does to a thread does not count here. The first half of the puts is to warm up. */
    private String cpu(int operations) {
        int[] stream = peer.evicts() ? workload.stream(operations) : present(operations);
        Histogram puts = new Histogram(3);
        for (int i = 0; i < stream.length; i++) {
            long before = Meter.threadCpuNanos();
            peer.put(stream[i], values[Workload.lengthOf(stream[i])]);
            long took = Meter.threadCpuNanos() - before;
            if (i >= stream.length / 2) {
                puts.recordValue(took);
            }
        }
        return number(puts.getValueAtPercentile(99.9) / 1e3) + " " + number(puts.getMaxValue() / 1e3);
    }
}
