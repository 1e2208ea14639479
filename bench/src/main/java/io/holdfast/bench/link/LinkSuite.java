package io.holdfast.bench.link;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.Suite;
import io.holdfast.embedded.EmbeddedRedis;
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

    private static final String SCRIPT = """
        #!lua
        -- KEYS: 1 a hash.  ARGV: 1 operation, 2 incarnation, 3 sequence, 4.. data.  Reply: {state, highest, count}
        local highest = redis.call('HGET', KEYS[1], ARGV[2])
        if highest and tonumber(highest) > tonumber(ARGV[3]) then
          return {'STALE', highest, 0}
        end
        local bytes = 0
        for i = 4, #ARGV do
          bytes = bytes + #ARGV[i]
        end
        if bytes == 0 then
          return {'EMPTY', ARGV[3], 0}
        end
        redis.call('HSET', KEYS[1], ARGV[2], ARGV[3], ARGV[1], bytes)
        return {'OK', ARGV[3], #ARGV - 3}
        """;

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
                contenders.forEach(contender -> contender.load(SCRIPT));
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
        return List.of(new LettuceContender(server), new JedisContender(server, POOL));
    }

    private static void roundTrips(Run run, Meter meter, List<LinkContender> contenders, int callers) throws Exception {
        int calls = run.size(40_000, 4_000) * (callers == 1 ? 1 : 2);
        List<byte[]> arguments = arguments(new SplittableRandom(callers), 8, 64);
        compare(
                run,
                callers + (callers == 1 ? " caller" : " callers"),
                "call",
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
        int batches = run.size(400, 40);
        SplittableRandom random = new SplittableRandom(1);
        List<List<byte[]>> calls = new ArrayList<>();
        for (int i = 0; i < BATCH; i++) {
            calls.add(arguments(random, BATCH_ARGUMENTS, BATCH_ARGUMENT_BYTES));
        }
        byte[] key = key("batch");
        compare(
                run,
                "batch of 100 calls, 2 KiB each",
                "call",
                contenders,
                contender -> () -> meter.measure((long) batches * BATCH, () -> {
                    for (int i = 0; i < batches; i++) {
                        contender.batch(key, calls);
                    }
                }));
    }

    private static void wide(Run run, Meter meter, List<LinkContender> contenders) throws Exception {
        int calls = run.size(4_000, 400);
        List<byte[]> arguments = arguments(new SplittableRandom(2), WIDE_ARGUMENTS, WIDE_ARGUMENT_BYTES);
        byte[] key = key("wide");
        compare(
                run,
                "one call with 1,000 ids",
                "call",
                contenders,
                contender -> () -> meter.measure(calls, () -> {
                    for (int i = 0; i < calls; i++) {
                        contender.call(key, arguments);
                    }
                }));
    }

    private static void compare(
            Run run,
            String what,
            String operation,
            List<LinkContender> contenders,
            Function<LinkContender, Contest.Contender> measuring)
            throws Exception {
        Contest contest = new Contest();
        contenders.forEach(contender -> contest.add(contender.name(), measuring.apply(contender)));
        Contest.Results results = contest.run(run.size(7, 3));
        for (LinkContender contender : contenders) {
            String name = contender.name();
            run.note("%-32s %-9s wall %8.2f us  server CPU %7.2f us  client CPU %7.2f us per %s"
                    .formatted(
                            what,
                            name,
                            results.median(name, Measurement::wallMicros),
                            results.median(name, Measurement::serverMicros),
                            results.median(name, Measurement::clientMicros),
                            operation));
        }
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
