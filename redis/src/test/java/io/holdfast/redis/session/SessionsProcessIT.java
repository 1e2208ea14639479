package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.Holdfast;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;

/** Instances as processes of their own, killed with SIGKILL. */
@Isolated("a lease of three seconds must hold on a busy machine")
class SessionsProcessIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int SESSIONS = 10_000;
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration GRACE = Duration.ofSeconds(1);

    /** Three kills by default; -Dseeds=20 for twenty. */
    @Test
    void killedInstanceLeavesNothingOpenAndWhatOthersHoldStaysOpen() {
        try (Holdfast holdfast = Holdfast.connect(redis.uri().toString())) {
            ConcurrentHashMap<String, LongAdder> closed = new ConcurrentHashMap<>();
            Sessions here = sessions(holdfast)
                    .onClose(claim -> closed.computeIfAbsent(claim.id(), id -> new LongAdder())
                            .increment())
                    .start();
            SessionHold shared = here.acquire("shared");
            Seeds.of(3).run((cycle, random) -> {
                closed.clear();
                try (ChildJvm child = ChildJvm.of(Instance.class)
                        .arguments(redis.uri(), cycle)
                        .start()) {
                    assertThat(here.view().stats().live()).isEqualTo(SESSIONS + 1L);
                    assertThat(here.count("shared")).isEqualTo(2);
                    assertThat(closed).isEmpty();
                    child.kill();
                    await().atMost(Duration.ofSeconds(60)).until(() -> closed.size() == SESSIONS);
                }
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> here.view().stats().closing() == 0);
                assertThat(closed).doesNotContainKey("shared");
                assertThat(here.count("shared")).isEqualTo(1);
                assertThat(shared.isValid()).isTrue();
                assertThat(here.view().stats().live()).isEqualTo(1);
            });
            assertThat(here.figures().negatives()).isZero();
        }
    }

    private static SessionsBuilder sessions(Holdfast holdfast) {
        return holdfast.sessions("killed").lease(LEASE).grace(GRACE);
    }

    /** The process that is killed. */
    static final class Instance {
        /** A hold that is not referred to any more is released. */
        private static final Collection<SessionHold> KEPT = new ConcurrentLinkedQueue<>();

        public static void main(String[] arguments) throws Exception {
            Holdfast holdfast = Holdfast.connect(arguments[0]);
            Sessions sessions = sessions(holdfast).start();
            KEPT.add(sessions.acquire("shared"));
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<?>> acquired = new ArrayList<>();
                for (int i = 0; i < SESSIONS; i++) {
                    String id = "s" + arguments[1] + "-" + i;
                    acquired.add(threads.submit(() -> KEPT.add(sessions.acquire(id))));
                }
                for (Future<?> one : acquired) {
                    one.get();
                }
            }
            ChildJvm.sayReady();
            Thread.currentThread().join();
        }
    }
}
