package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.hold.CallLog;
import io.holdfast.redis.hold.ServerClock;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Three instances of the real code and twenty sessions on a real server, under random acquires, releases, crashes,
 * stalls, a full server, and calls that are lost, repeated and late; compared with {@link ServedModel}.
 */
class SessionsSimulation {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int INSTANCES = 3;
    private static final int SESSIONS = 20;
    private static final int OPERATIONS = 200;
    private static final long BEGINNING = 1_800_000_000_000L;

    @Test
    void nothingIsClosedWhileHeldAndNothingIsLeftOpen() {
        try (RedisLink link = link();
                Jedis jedis = redis.client()) {
            Seeds.of(500).run((seed, random) -> {
                new Run(link, jedis, random, seed % 3 == 0).run();
            });
        }
    }

    @Test
    void seedsReplayTheSameCalls() {
        try (RedisLink link = link();
                Jedis jedis = redis.client()) {
            Seeds.of(10).run((seed, random) -> {
                Run first = new Run(link, jedis, Seeds.random(seed), seed % 3 == 0);
                first.run();
                Run second = new Run(link, jedis, Seeds.random(seed), seed % 3 == 0);
                second.run();
                second.log.isSameAs(first.log);
            });
        }
    }

    @Test
    void theOriginalProtocolFailsTheSameTest() {
        int closedWhileServed = 0;
        int leftOpen = 0;
        try (Jedis jedis = redis.client()) {
            for (int seed = 1; seed <= 20; seed++) {
                jedis.flushAll();
                OriginalProtocol original = new OriginalProtocol(jedis, Seeds.random(seed), INSTANCES, SESSIONS);
                original.run(OPERATIONS);
                closedWhileServed += original.closedWhileServed() > 0 ? 1 : 0;
                leftOpen += original.leftOpen() > 0 ? 1 : 0;
            }
        }
        assertThat(closedWhileServed)
                .as("seeds in which it closed what was served")
                .isGreaterThan(3);
        assertThat(leftOpen)
                .as("seeds in which it left something open for ever")
                .isGreaterThan(3);
    }

    private static RedisLink link() {
        return RedisLink.connect(
                Settings.none().set(LinkSettings.URI, redis.uri().toString()));
    }

    private static final class Run {
        private final Jedis jedis;
        private final RandomGenerator random;
        private final ManualTime time = new ManualTime();
        private final ServedModel model = new ServedModel();
        private final CallLog log = new CallLog();
        private final FaultyCalls network;
        private final List<SimulatedInstance> instances = new ArrayList<>();
        private boolean full;

        Run(RedisLink link, Jedis jedis, RandomGenerator random, boolean overlap) {
            this.jedis = jedis;
            this.random = random;
            this.network = new FaultyCalls(link, random, model, SimulatedInstance.CLAIM, log);
            Set<SimulatedInstance> all = new LinkedHashSet<>();
            for (int i = 0; i < INSTANCES; i++) {
                SimulatedInstance instance = new SimulatedInstance(i, link, time, random, model, network, overlap, all);
                all.add(instance);
                instances.add(instance);
            }
        }

        void run() {
            jedis.flushAll();
            ServerClock.stopAt(jedis, BEGINNING);
            try {
                log.explain(this::runToTheEnd);
            } finally {
                fill(false);
                instances.forEach(SimulatedInstance::die); // holds that are collected later must not be heard of
            }
        }

        private void runToTheEnd() {
            instances.forEach(SimulatedInstance::start);
            for (int i = 0; i < OPERATIONS && model.violations.isEmpty(); i++) {
                operation();
            }
            assertThat(model.violations).isEmpty();
            network.heal();
            fill(random.nextInt(4) == 0); // what is held is held on a full server, too
            network.deliverAll();
            settle();
            onlyWhatIsNotOpenIsDoubted();
            fill(false);
            settle();
            holdersAreExact();
            everythingEnds();
        }

        private void operation() {
            SimulatedInstance instance = instances.get(random.nextInt(INSTANCES));
            String id = "s" + random.nextInt(SESSIONS);
            int dice = random.nextInt(100);
            if (dice < 5) {
                network.deliverOne();
            } else if (dice == 5 && random.nextInt(4) == 0 && !full) {
                network.replaceStore(jedis, "sim", SimulatedInstance.SHARDS, SimulatedInstance.LEASE);
            } else if (dice == 6 && random.nextInt(3) == 0) {
                fill(!full);
            } else if (dice < 20) {
                advance(Duration.ofMillis(500 + 500L * random.nextInt(8)));
            } else if (instance.isDead()) {
                instance.start();
            } else if (instance.stalled) {
                instance.stalled = random.nextInt(4) > 0;
            } else if (dice < 45) {
                instance.acquire(id);
            } else if (dice < 65) {
                instance.release(id);
            } else if (dice < 95) {
                instance.step();
            } else if (dice < 98) {
                instance.stalled = true;
            } else {
                instance.die();
            }
        }

        private void fill(boolean now) {
            full = now;
            jedis.configSet("maxmemory", now ? "1" : "0");
        }

        private void advance(Duration by) {
            time.advance(by);
            network.age(by, jedis);
        }

        private void settle() {
            for (SimulatedInstance instance : instances) {
                instance.stalled = false;
                if (instance.isDead()) {
                    instance.start();
                }
            }
            for (int i = 0; i < 8; i++) {
                // Steps are small, so that somebody is there all the time and deadlines are believed.
                advance(Duration.ofSeconds(3));
                instances.forEach(SimulatedInstance::step);
            }
            assertThat(model.violations).isEmpty();
        }

        /** On a full server what is open is held; a session whose life has ended cannot be opened again, and is doubted. */
        private void onlyWhatIsNotOpenIsDoubted() {
            for (SimulatedInstance instance : instances) {
                for (String id : instance.doubted()) {
                    assertThat(instance.sessions().view().open(id))
                            .as("%s, which instance %s doubts; the server is full: %s", id, instance.number, full)
                            .isEmpty();
                    assertThat(full).isTrue();
                }
            }
        }

        private void holdersAreExact() {
            for (SimulatedInstance instance : instances) {
                assertThat(instance.doubted())
                        .as("holds that instance %s doubts", instance.number)
                        .isEmpty();
            }
            for (int i = 0; i < SESSIONS; i++) {
                String id = "s" + i;
                assertThat((long) instances.getFirst().sessions().count(id))
                        .as(
                                "holders of %s: %s",
                                id, instances.getFirst().sessions().view().show(id))
                        .isEqualTo(model.serving(id));
            }
        }

        private void everythingEnds() {
            for (SimulatedInstance instance : instances) {
                instance.held().forEach(instance::release);
            }
            instances.get(1).die();
            for (int i = 0; i < 60 && !isEmpty(); i++) {
                advance(Duration.ofSeconds(3));
                instances.forEach(SimulatedInstance::step);
            }
            assertThat(model.violations).isEmpty();
            assertThat(isEmpty()).as("everything is closed").isTrue();
            assertThat(model.neverClosed()).isEmpty();
            for (SimulatedInstance instance : instances) {
                if (!instance.isDead()) {
                    assertThat(instance.sessions().figures().negatives()).isZero();
                }
            }
        }

        private boolean isEmpty() {
            for (int shard = 0; shard < SimulatedInstance.SHARDS; shard++) {
                String prefix = "hf:{session:sim:" + shard + "}:";
                Map<String, String> things = jedis.hgetAll(prefix + "things");
                boolean open = things.keySet().stream().anyMatch(field -> field.startsWith("="));
                if (open
                        || jedis.exists(
                                        prefix + "due",
                                        prefix + "closing",
                                        prefix + "claims",
                                        prefix + "letters",
                                        prefix + "data")
                                > 0) {
                    return false;
                }
            }
            return true;
        }
    }
}
