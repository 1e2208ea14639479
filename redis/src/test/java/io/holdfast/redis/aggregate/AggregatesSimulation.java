package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Three instances of the real code with tables of a few keys, fed by a bus that delivers again, under random adds, ends,
 * extensions, evictions, windows, crashes, stalls, refused updates, a failing sink, calls that are lost, repeated, late and slow,
 * a missing replica, a full server, and steps of its clock. After every operation {@link WindowWatch} compares what is open with
 * the windows; in the end the sink's rows are compared with what was sent, message by message.
 */
class AggregatesSimulation {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int INSTANCES = 3;
    private static final int KEYS = 14;
    private static final int PARTITIONS = 3;
    private static final int OPERATIONS = 200;
    private static final Duration EXTENSION = Duration.ofSeconds(20);
    private static final long BEGINNING = 1_800_000_000_000L;

    private static final Logger LOGGER = Logger.getLogger("io.holdfast.redis");

    /** Thousands of refusals and retries are what a simulation is about; the calls that matter are printed with a failure. */
    @BeforeAll
    static void logNothing() {
        LOGGER.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        LOGGER.setLevel(null);
    }

    @Test
    void everyMessageIsInExactlyOneRow() {
        try (RedisLink link = RedisLink.connect(
                        Settings.none().set(LinkSettings.URI, redis.uri().toString()));
                Jedis jedis = redis.client()) {
            Seeds.of(100).run((seed, random) -> {
                new Run(link, jedis, random).run();
            });
        }
    }

    @Test
    void seedsReplayTheSameCalls() {
        try (RedisLink link = RedisLink.connect(
                        Settings.none().set(LinkSettings.URI, redis.uri().toString()));
                Jedis jedis = redis.client()) {
            Seeds.of(10).run((seed, random) -> {
                Run first = new Run(link, jedis, Seeds.random(seed));
                first.run();
                Run second = new Run(link, jedis, Seeds.random(seed));
                second.run();
                second.log.isSameAs(first.log);
            });
        }
    }

    @Test
    void theOriginalProtocolFailsTheSameTest() {
        int lost = 0;
        int twice = 0;
        int leftOpen = 0;
        for (int seed = 1; seed <= 20; seed++) {
            OriginalReferences original = new OriginalReferences(Seeds.random(seed), INSTANCES, KEYS);
            original.run(OPERATIONS);
            lost += original.lost() > 0 ? 1 : 0;
            twice += original.twice() > 0 ? 1 : 0;
            leftOpen += original.leftOpen() > 0 ? 1 : 0;
        }
        assertThat(lost).as("seeds in which updates were lost").isGreaterThan(15);
        assertThat(twice).as("seeds in which something was written twice").isGreaterThan(3);
        assertThat(leftOpen).as("seeds in which something stayed open for ever").isGreaterThan(3);
    }

    private static final class Run {
        private final Jedis jedis;
        private final RandomGenerator random;
        private final ManualTime time = new ManualTime();
        private final SimulatedBus bus = new SimulatedBus(PARTITIONS);
        private final CallLog log = new CallLog();
        private final FaultyCalls network;
        private final MemorySink sink;
        private final WindowWatch windows;
        private boolean full;
        private final List<SimulatedInstance> instances = new ArrayList<>();

        Run(RedisLink link, Jedis jedis, RandomGenerator random) {
            this.jedis = jedis;
            this.random = random;
            this.network = new FaultyCalls(link, random, log, this::advance);
            this.windows = new WindowWatch(jedis, SimulatedInstance.SHARDS, SimulatedInstance.HARD);
            this.sink = new MemorySink(random);
            for (int i = 0; i < INSTANCES; i++) {
                instances.add(new SimulatedInstance(i, link, time, random, bus, network, sink));
            }
        }

        void run() {
            jedis.flushAll();
            ServerClock.stopAt(jedis, BEGINNING);
            try {
                log.explain(this::runToTheEnd);
            } finally {
                fill(false);
            }
        }

        private void runToTheEnd() {
            instances.forEach(SimulatedInstance::start);
            for (int i = 0; i < OPERATIONS; i++) {
                network.beginOperation();
                operation();
                windows.look(ServerClock.millis(jedis));
            }
            if (random.nextInt(4) == 0) {
                lookOnWhileNothingCanBeFlushed();
            }
            network.heal();
            fill(false);
            sink.faulty = false;
            sink.down = false;
            bus.poisoned.clear();
            network.deliverAll();
            useAllKeys();
            drain();
            everythingEnds();
            compare();
        }

        private void operation() {
            SimulatedInstance instance = instances.get(random.nextInt(INSTANCES));
            int dice = random.nextInt(100);
            int partition = random.nextInt(PARTITIONS);
            if (dice < 6) {
                network.deliverOne();
            } else if (dice < 16) {
                advance(Duration.ofMillis(500 + 500L * random.nextInt(8)));
            } else if (dice < 18) {
                disturb();
            } else if (dice < 34) {
                bus.partitions.get(partition).add(message(25));
            } else if (dice < 39) {
                bus.queue.put(message(5), -1);
            } else if (instance.isDead()) {
                instance.start();
            } else if (instance.stalled) {
                instance.stalled = random.nextInt(4) > 0;
            } else {
                act(instance, partition, dice);
            }
        }

        /** The sink is down for longer than an epoch has attempts, or no replica is there: no dead letter may come of it. */
        private void lookOnWhileNothingCanBeFlushed() {
            network.replicaDown = random.nextBoolean();
            sink.down = !network.replicaDown;
            for (int i = 0; i < 30; i++) {
                network.beginOperation();
                revive();
                advance(Duration.ofSeconds(2));
                instances.forEach(SimulatedInstance::step);
                windows.look(ServerClock.millis(jedis));
            }
        }

        /** One message in so many is refused for now. */
        private SimulatedBus.Message message(int among) {
            return random.nextInt(among) == 0 ? bus.poisoned(key()) : bus.make(key());
        }

        /** What happens to the server and to the network, and to values that could not be encoded. */
        private void disturb() {
            switch (random.nextInt(6)) {
                case 0 -> network.slow = !network.slow;
                case 1 -> network.replicaDown = !network.replicaDown;
                case 2 -> fill(!full);
                case 3 -> ServerClock.advance(jedis, Duration.ofSeconds(random.nextBoolean() ? 60 : -60));
                case 4 -> ServerClock.advance(jedis, Duration.ofHours(2));
                default -> bus.poisoned.clear();
            }
        }

        private void fill(boolean now) {
            full = now;
            jedis.configSet("maxmemory", now ? "1" : "0");
        }

        private void act(SimulatedInstance instance, int partition, int dice) {
            try {
                if (dice < 41) {
                    instance.addLoose(message(25));
                } else if (dice < 43) {
                    instance.addAgainAndComplete();
                } else if (dice < 60) {
                    if (bus.assigned[partition] < 0) {
                        instance.take(partition);
                    }
                    int reads = 1 + random.nextInt(4);
                    for (int i = 0; i < reads; i++) {
                        instances.stream().filter(one -> !one.isDead()).forEach(one -> one.poll(partition));
                    }
                } else if (dice < 64) {
                    instance.pollQueue();
                } else if (dice < 68) {
                    instance.acknowledge(partition);
                    if (random.nextBoolean()) {
                        instance.skip(partition);
                    }
                } else if (dice < 70) {
                    instance.take(partition); // though another one may still be at it
                } else if (dice < 72) {
                    bus.queue.replaceAll((message, holder) -> -1); // delivered again, though somebody is at it
                } else if (dice < 91) {
                    instance.step();
                } else if (dice < 93) {
                    network.whileCallerWaits(() -> instance.aggregates().forceEnd(key()));
                } else if (dice < 94) {
                    String key = key();
                    network.whileCallerWaits(() -> instance.aggregates().extend(key, EXTENSION));
                    windows.extended(key, ServerClock.millis(jedis) + EXTENSION.toMillis());
                } else if (dice < 95) {
                    network.whileCallerWaits(instance.aggregates()::publish);
                } else if (dice < 96) {
                    sink.down = !sink.down;
                } else if (dice < 98) {
                    instance.stalled = true;
                } else {
                    instance.die();
                }
            } catch (HoldfastException e) {
                if (e.category() != HoldfastException.Category.GONE
                        && e.category() != HoldfastException.Category.FULL
                        && !e.isRetryable()) {
                    throw e;
                }
            }
        }

        private String key() {
            return "k" + random.nextInt(KEYS);
        }

        private void advance(Duration by) {
            time.advance(by);
            ServerClock.advance(jedis, by);
        }

        private void revive() {
            for (SimulatedInstance instance : instances) {
                instance.stalled = false;
                if (instance.isDead()) {
                    instance.start();
                }
            }
        }

        /**
         * Every key is updated all the time, by instances that hold it and by instances that have no room for it: each epoch ends
         * with its hard window all the same.
         */
        private void useAllKeys() {
            long healed = ServerClock.millis(jedis);
            long trusted = healed + SimulatedInstance.LEASE.toMillis() + 3_000;
            long extended = windows.latestExtension(EXTENSION);
            while (ServerClock.millis(jedis) < healed + 2 * SimulatedInstance.HARD.toMillis()) {
                revive();
                advance(Duration.ofSeconds(2));
                for (int i = 0; i < KEYS; i++) {
                    addIfRoom(instances.get(random.nextInt(INSTANCES)), "k" + i);
                }
                instances.forEach(SimulatedInstance::step);
                windows.look(ServerClock.millis(jedis));
                windows.nothingIsLate(ServerClock.millis(jedis), Math.max(trusted, extended));
            }
        }

        private void addIfRoom(SimulatedInstance instance, String key) {
            try {
                instance.addLoose(bus.make(key));
            } catch (HoldfastException e) {
                assertThat(e.isRetryable()).as(e.toString()).isTrue();
            }
        }

        /** The bus delivers until everything is acknowledged. */
        private void drain() {
            for (int round = 0; round < 300 && !bus.isDone(); round++) {
                revive();
                advance(Duration.ofSeconds(2));
                for (int partition = 0; partition < PARTITIONS; partition++) {
                    if (bus.assigned[partition] < 0) {
                        instances.get(partition % INSTANCES).take(partition);
                    }
                    SimulatedInstance reader = instances.get(bus.assigned[partition]);
                    reader.acknowledge(partition);
                    if (!bus.refused.get(partition).isEmpty()) {
                        reader.take(partition);
                    }
                    for (int i = 0; i < 12; i++) {
                        pollIfRoom(reader, partition);
                    }
                }
                instances.forEach(instance -> {
                    try {
                        instance.pollQueue();
                    } catch (HoldfastException e) {
                        assertThat(e.isRetryable()).as(e.toString()).isTrue();
                    }
                });
                instances.forEach(SimulatedInstance::step);
            }
            assertThat(bus.isDone()).as("everything is acknowledged").isTrue();
        }

        private static void pollIfRoom(SimulatedInstance reader, int partition) {
            try {
                reader.poll(partition);
            } catch (HoldfastException e) {
                assertThat(e.isRetryable()).as(e.toString()).isTrue();
            }
        }

        private void everythingEnds() {
            instances.get(1).die();
            for (int i = 0; i < 160 && !isEmpty(); i++) {
                // Steps are small, so that somebody is there all the time and deadlines are believed.
                advance(Duration.ofSeconds(3));
                instances.forEach(SimulatedInstance::step);
            }
            assertThat(isEmpty()).as("everything is flushed").isTrue();
            for (SimulatedInstance instance : instances) {
                if (!instance.isDead()) {
                    assertThat(instance.aggregates().figures().negatives()).isZero();
                }
            }
        }

        private boolean isEmpty() {
            for (int shard = 0; shard < SimulatedInstance.SHARDS; shard++) {
                String prefix = "hf:{aggregate:sim:" + shard + "}:";
                boolean open = jedis.hkeys(prefix + "things").stream().anyMatch(field -> field.startsWith("="))
                        || jedis.hkeys(prefix + "parts").stream().anyMatch(field -> Character.isDigit(field.charAt(0)));
                if (open
                        || jedis.exists(prefix + "due", prefix + "closing", prefix + "claims", prefix + "letters") > 0
                        || waitingBytes(prefix) > 0) {
                    return false;
                }
            }
            return true;
        }

        private long waitingBytes(String prefix) {
            String bytes = jedis.hget(prefix + "meta", "bytes");
            return bytes == null ? 0 : Long.parseLong(bytes);
        }

        private void compare() {
            assertThat(sink.violations).isEmpty();
            assertThat(waitingBytes("hf:{aggregate:sim:0}:") + waitingBytes("hf:{aggregate:sim:1}:"))
                    .as("bytes that wait")
                    .isZero();
            Map<Long, Integer> counted = new HashMap<>();
            sink.rows.forEach((row, flush) -> {
                assertThat(flush.updates()).isEqualTo(flush.value().ids().size());
                for (long id : flush.value().ids()) {
                    counted.merge(id, 1, Integer::sum);
                    assertThat(bus.all.get(id)).as("key of message %s", id).isEqualTo(row.key());
                }
            });
            bus.all.keySet().forEach(id -> {
                int times = counted.getOrDefault(id, 0);
                if (bus.skipped.contains(id) || (bus.loose.contains(id) && !bus.durable.contains(id))) {
                    assertThat(times)
                            .as("message %s, skipped or never durable", id)
                            .isLessThanOrEqualTo(1);
                } else {
                    assertThat(times)
                            .as("message %s of key %s", id, bus.all.get(id))
                            .isEqualTo(1);
                }
            });
        }
    }
}
