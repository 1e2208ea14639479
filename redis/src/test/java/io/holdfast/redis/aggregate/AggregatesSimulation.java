package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.AheadTime;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Three instances of the real code with tables of a few keys, fed by a bus that delivers again, under random adds, closes,
 * evictions, windows, crashes, stalls, a failing sink, and calls that are lost, repeated and late. In the end the sink's rows are
 * compared with what was sent, message by message.
 */
class AggregatesSimulation {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final int INSTANCES = 3;
    private static final int KEYS = 14;
    private static final int PARTITIONS = 3;
    private static final int OPERATIONS = 200;

    @Test
    void everyMessageIsInExactlyOneRow() {
        try (RedisLink link = RedisLink.connect(
                        Settings.none().set(LinkSettings.URI, redis.uri().toString()));
                Jedis jedis = redis.client()) {
            Seeds.of(500).run((seed, random) -> {
                jedis.flushAll();
                new Run(link, jedis, random).run();
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
        private final AheadTime time = new AheadTime();
        private final SimulatedBus bus = new SimulatedBus(PARTITIONS);
        private final FaultyCalls network;
        private final MemorySink sink;
        private final List<SimulatedInstance> instances = new ArrayList<>();

        Run(RedisLink link, Jedis jedis, RandomGenerator random) {
            this.jedis = jedis;
            this.random = random;
            this.network = new FaultyCalls(link, random);
            this.sink = new MemorySink(random);
            for (int i = 0; i < INSTANCES; i++) {
                instances.add(new SimulatedInstance(i, link, time, random, bus, network, sink));
            }
        }

        void run() {
            instances.forEach(SimulatedInstance::start);
            for (int i = 0; i < OPERATIONS; i++) {
                operation();
            }
            network.heal();
            sink.faulty = false;
            sink.down = false;
            network.deliverAll();
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
            } else if (dice < 34) {
                bus.partitions.get(partition).add(bus.make(key()));
            } else if (dice < 39) {
                bus.queue.put(bus.make(key()), -1);
            } else if (instance.isDead()) {
                instance.start();
            } else if (instance.stalled) {
                instance.stalled = random.nextInt(4) > 0;
            } else {
                act(instance, partition, dice);
            }
        }

        private void act(SimulatedInstance instance, int partition, int dice) {
            try {
                if (dice < 43) {
                    instance.addLoose(bus.make(key()));
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
                } else if (dice < 70) {
                    instance.take(partition); // though another one may still be at it
                } else if (dice < 72) {
                    bus.queue.replaceAll((message, holder) -> -1); // delivered again, though somebody is at it
                } else if (dice < 91) {
                    instance.step();
                } else if (dice < 93) {
                    instance.aggregates().close(key());
                } else if (dice < 94) {
                    instance.aggregates().extend(key(), Duration.ofSeconds(20));
                } else if (dice < 95) {
                    instance.aggregates().publish();
                } else if (dice < 96) {
                    sink.down = !sink.down;
                } else if (dice < 98) {
                    instance.stalled = true;
                } else {
                    instance.die();
                }
            } catch (HoldfastException e) {
                if (e.category() != HoldfastException.Category.GONE && !e.isRetryable()) {
                    throw e;
                }
            }
        }

        private String key() {
            return "k" + random.nextInt(KEYS);
        }

        private void advance(Duration by) {
            time.advance(by);
            network.advance(by.toMillis());
            ServerClock.advance(jedis, "sim", SimulatedInstance.SHARDS, by);
        }

        private void revive() {
            for (SimulatedInstance instance : instances) {
                instance.stalled = false;
                if (instance.isDead()) {
                    instance.start();
                }
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
                    for (int i = 0; i < 12; i++) {
                        pollIfRoom(reader, partition);
                    }
                }
                instances.forEach(instance -> {
                    try {
                        instance.pollQueue();
                    } catch (HoldfastException e) {
                        assertThat(e.isRetryable()).isTrue();
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
                assertThat(e.isRetryable()).isTrue();
            }
        }

        private void everythingEnds() {
            instances.get(1).die();
            for (int i = 0; i < 120 && !isEmpty(); i++) {
                // Steps are small, so that somebody is there all the time and deadlines are believed.
                advance(Duration.ofSeconds(4));
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
                boolean open = jedis.hkeys(prefix + "things").stream().anyMatch(field -> field.startsWith("="));
                if (open
                        || jedis.exists(
                                        prefix + "due",
                                        prefix + "closing",
                                        prefix + "claims",
                                        prefix + "letters",
                                        prefix + "parts")
                                > 0
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
                if (bus.loose.contains(id) && !bus.durable.contains(id)) {
                    assertThat(times).as("message %s, never durable", id).isLessThanOrEqualTo(1);
                } else {
                    assertThat(times)
                            .as("message %s of key %s", id, bus.all.get(id))
                            .isEqualTo(1);
                }
            });
        }
    }
}
