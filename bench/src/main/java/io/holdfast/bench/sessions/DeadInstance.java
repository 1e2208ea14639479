package io.holdfast.bench.sessions;

import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.redis.session.SessionsBuilder;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/** A process that serves 10,000 sessions is killed, and another one closes them. */
final class DeadInstance {

    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration GRACE = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final int COUNT = 10_000;

    private DeadInstance() {}

    static void measure(Run run) throws Exception {
        run.note("a crash");
        Set<String> closed = ConcurrentHashMap.newKeySet();
        try (RedisServer server = RedisServer.start();
                Holdfast survivor = Holdfast.connect(server.uri().toString());
                Sessions here = sessions(survivor)
                        .onClose(claim -> closed.add(claim.id()))
                        .start();
                ChildJvm victim =
                        ChildJvm.of(Victim.class).arguments(server.uri()).start()) {
            if (here.view().stats().live() != COUNT) {
                throw new IllegalStateException("not everything was acquired");
            }
            victim.kill();
            long died = System.nanoTime();
            while (closed.size() < COUNT) {
                if (System.nanoTime() - died > PATIENCE.toNanos()) {
                    throw new IllegalStateException(closed.size() + " of " + COUNT + " sessions were closed");
                }
                LockSupport.parkNanos(1_000_000);
            }
            double seconds =
                    (System.nanoTime() - died) / 1e9 - LEASE.plus(GRACE).toMillis() / 1e3;
            run.row(Row.reported(
                            "10,000 sessions of a killed process closed, beyond lease + grace",
                            "s",
                            Direction.LOWER,
                            seconds)
                    .goal(2));
        }
    }

    private static SessionsBuilder sessions(Holdfast holdfast) {
        return holdfast.sessions("crash").lease(LEASE).grace(GRACE);
    }

    /** The process that is killed. */
    static final class Victim {
        private static final List<SessionHold> KEPT = new ArrayList<>(); // a hold that is unreachable is released

        private Victim() {}

        public static void main(String[] arguments) throws Exception {
            Sessions there = sessions(Holdfast.connect(arguments[0])).start();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<SessionHold>> acquired = new ArrayList<>();
                for (int i = 0; i < COUNT; i++) {
                    String id = "s" + i;
                    acquired.add(threads.submit(() -> there.acquire(id)));
                }
                for (Future<SessionHold> one : acquired) {
                    KEPT.add(one.get());
                }
            }
            ChildJvm.sayReady();
            Thread.currentThread().join();
        }
    }
}
