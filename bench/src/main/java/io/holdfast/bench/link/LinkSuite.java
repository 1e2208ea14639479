package io.holdfast.bench.link;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.Suite;
import io.holdfast.embedded.EmbeddedRedis;
import io.holdfast.redis.link.Script;
import io.holdfast.spi.EmbeddedStore;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * A script call of the product's size by each client: alone, from many virtual threads, in batches, and with many
 * arguments. The script checks, then writes one field, then answers, as the product's scripts do.
 */
public final class LinkSuite implements Suite {

    private static final int BATCH = 100;
    private static final int BATCH_ARGUMENT_BYTES = 128;
    private static final int BATCH_ARGUMENTS = 16;
    private static final int WIDE_ARGUMENTS = 1_000;
    private static final int WIDE_ARGUMENT_BYTES = 16;
    private static final int POOL = 32;

    private static final Script SCRIPT = Script.load(
            LinkSuite.class, "link.lua", "meta", "operation incarnation sequence data…", "state highest count");

    @Override
    public String name() {
        return "link";
    }

    @Override
    public String description() {
        return "a script call by each Redis client: round trip, concurrent callers, batches";
    }

    @Override
    public void measure(Run run) throws Exception {
        try (EmbeddedStore.Running server = new EmbeddedRedis().start(null);
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            List<LinkContender> contenders = contenders(server.uri());
            try {
                for (int callers : new int[] {1, 16, 256}) {
                    roundTrips(run, meter, contenders, callers);
                }
                batches(run, meter, contenders);
                wide(run, meter, contenders);
            } finally {
                contenders.forEach(LinkContender::close);
            }
        }
    }

    static List<LinkContender> contenders(URI server) {
        byte[] source = SCRIPT.source();
        return List.of(
                new HoldfastContender(server, POOL, SCRIPT),
                new JedisContender(server, POOL, source),
                new LettuceContender(server, source));
    }

    private static void roundTrips(Run run, Meter meter, List<LinkContender> contenders, int callers) throws Exception {
        int calls = run.size(20_000, 2_000) * (callers == 1 ? 1 : 2);
        List<byte[]> arguments = arguments(new SplittableRandom(callers), 8, 64);
        compare(
                run,
                callers + (callers == 1 ? " caller" : " callers"),
                contenders,
                contender -> () -> meter.measure(calls, () -> callFromMany(contender, arguments, callers, calls)));
    }

    private static void callFromMany(LinkContender contender, List<byte[]> arguments, int callers, int calls)
            throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> running = new ArrayList<>();
            for (int caller = 0; caller < callers; caller++) {
                byte[] key = key("caller-" + caller);
                running.add(threads.submit(() -> {
                    for (int i = 0; i < calls / callers; i++) {
                        contender.call(key, arguments);
                    }
                }));
            }
            for (Future<?> caller : running) {
                caller.get();
            }
        }
    }

    private static void batches(Run run, Meter meter, List<LinkContender> contenders) throws Exception {
        int batches = run.size(400, 20);
        SplittableRandom random = new SplittableRandom(1);
        List<List<byte[]>> calls = new ArrayList<>();
        for (int i = 0; i < BATCH; i++) {
            calls.add(arguments(random, BATCH_ARGUMENTS, BATCH_ARGUMENT_BYTES));
        }
        byte[] key = key("batch");
        compare(
                run,
                "batch of 100 calls, 2 KiB each",
                contenders,
                contender -> () -> meter.measure((long) batches * BATCH, () -> {
                    for (int i = 0; i < batches; i++) {
                        contender.batch(key, calls);
                    }
                }));
    }

    private static void wide(Run run, Meter meter, List<LinkContender> contenders) throws Exception {
        int calls = run.size(4_000, 200);
        List<byte[]> arguments = arguments(new SplittableRandom(2), WIDE_ARGUMENTS, WIDE_ARGUMENT_BYTES);
        byte[] key = key("wide");
        compare(
                run,
                "one call with 1,000 ids",
                contenders,
                contender -> () -> meter.measure(calls, () -> {
                    for (int i = 0; i < calls; i++) {
                        contender.call(key, arguments);
                    }
                }));
    }

    private static void compare(
            Run run, String what, List<LinkContender> contenders, Function<LinkContender, Contest.Contender> measuring)
            throws Exception {
        run.note(what);
        Contest contest = new Contest();
        contenders.forEach(contender -> contest.add(contender.name(), measuring.apply(contender)));
        Contest.Results results = contest.run(run.size(5, 3));
        for (String peer : List.of("jedis", "lettuce")) {
            row(run, what + ": wall", results, peer, Measurement::wallMicros);
            row(run, what + ": server CPU", results, peer, Measurement::serverMicros);
            row(run, what + ": client CPU", results, peer, Measurement::clientMicros);
        }
    }

    private static void row(
            Run run, String name, Contest.Results results, String peer, ToDoubleFunction<Measurement> figure) {
        run.row(Row.compared(
                name,
                "us/call",
                Direction.LOWER,
                results.median("holdfast", figure),
                results.median(peer, figure),
                peer));
    }

    /** Operation, incarnation, sequence, and data. */
    private static List<byte[]> arguments(SplittableRandom random, int count, int bytes) {
        List<byte[]> arguments = new ArrayList<>();
        arguments.add("put".getBytes(StandardCharsets.US_ASCII));
        arguments.add("incarnation-0001".getBytes(StandardCharsets.US_ASCII));
        arguments.add("1".getBytes(StandardCharsets.US_ASCII));
        for (int i = 0; i < count; i++) {
            byte[] data = new byte[bytes];
            random.nextBytes(data);
            arguments.add(data);
        }
        return arguments;
    }

    private static byte[] key(String name) {
        return ("hf:{bench:" + name + ":0}:meta").getBytes(StandardCharsets.US_ASCII);
    }
}
