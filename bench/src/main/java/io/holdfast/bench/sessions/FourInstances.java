package io.holdfast.bench.sessions;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Four instances, each with a connection of its own, serve the same sessions at the same time, by the public API. */
final class FourInstances {

    private static final int INSTANCES = 4;
    private static final int CALLERS = 50;

    private FourInstances() {}

    static void measure(Run run) throws Exception {
        run.note("four instances");
        int count = run.size(5_000, 1_000);
        try (RedisServer server = RedisServer.start();
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            List<Holdfast> connections = new ArrayList<>();
            try {
                List<Sessions> sessions = new ArrayList<>();
                for (int i = 0; i < INSTANCES; i++) {
                    Holdfast holdfast = Holdfast.builder()
                            .uri(server.uri().toString())
                            .instance("i" + i)
                            .open();
                    connections.add(holdfast);
                    sessions.add(holdfast.sessions("rooms").start());
                }
                Contest.Results results = new Contest()
                        .add("one", () -> meter.measure(count, () -> pairs(sessions.subList(0, 1), count)))
                        .add("four", () -> meter.measure((long) INSTANCES * count, () -> pairs(sessions, count)))
                        .run(run.size(7, 3));
                run.row(Row.compared(
                        "acquire + release by 4 instances, the same sessions, server CPU",
                        "us/pair",
                        Direction.LOWER,
                        results.median("four", Measurement::serverMicros),
                        results.median("one", Measurement::serverMicros),
                        "1 instance"));
                run.row(Row.compared(
                        "acquire + release by 4 instances, the same sessions",
                        "1/s",
                        Direction.HIGHER,
                        results.median("four", Measurement::operationsPerSecond),
                        results.median("one", Measurement::operationsPerSecond),
                        "1 instance"));
            } finally {
                connections.forEach(Holdfast::close);
            }
        }
    }

    /** Every instance acquires and releases each session once, by fifty callers. */
    private static void pairs(List<Sessions> instances, int count) throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> callers = new ArrayList<>();
            for (Sessions sessions : instances) {
                for (int caller = 0; caller < CALLERS; caller++) {
                    int first = caller;
                    callers.add(threads.submit(() -> {
                        for (int i = first; i < count; i += CALLERS) {
                            try (SessionHold hold = sessions.acquire("room-" + i)) {
                                if (!hold.isValid()) {
                                    throw new IllegalStateException(hold.id() + " was lost");
                                }
                            }
                        }
                    }));
                }
            }
            for (Future<?> caller : callers) {
                caller.get();
            }
        }
    }
}
