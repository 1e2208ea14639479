package io.holdfast.redis.aggregate;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.aggregate.SimulatedBus.Message;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletionStage;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** One instance of the real code whose duties, flushes and death are in the hands of the simulation. */
final class SimulatedInstance {

    static final int SHARDS = 2;
    static final Duration LEASE = Duration.ofSeconds(9);
    static final Duration CLAIM = Duration.ofSeconds(6);
    static final Duration SOFT = Duration.ofSeconds(10);
    static final Duration HARD = Duration.ofSeconds(30);
    /** The default; the sink fails less often for one epoch. */
    private static final int ATTEMPTS = 5;

    private static final Codec<Ids> PLAIN = RecordCodec.of(Ids.class);

    final int number;
    private final RedisLink link;
    private final ManualTime time;
    private final RandomGenerator random;
    private final SimulatedBus bus;
    private final FaultyCalls network;
    private final MemorySink sink;
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private DutyRunner duties = DutyRunner.manual(new ManualTime());
    private Aggregates<Ids> aggregates;
    private boolean dead = true;
    private int life;
    boolean stalled;

    @SuppressWarnings("NullAway") // aggregates is set by start()
    SimulatedInstance(
            int number,
            RedisLink link,
            ManualTime time,
            RandomGenerator random,
            SimulatedBus bus,
            FaultyCalls network,
            MemorySink sink) {
        this.number = number;
        this.link = link;
        this.time = time;
        this.random = random;
        this.bus = bus;
        this.network = network;
        this.sink = sink;
    }

    boolean isDead() {
        return dead;
    }

    Aggregates<Ids> aggregates() {
        return aggregates;
    }

    /** A new process; a start that gets no answer is no start. */
    void start() {
        dead = false;
        stalled = false;
        int mine = ++life;
        duties = DutyRunner.manual(time);
        HolderId self = new HolderId("i" + number, random.nextLong());
        Client client = new Client(link, duties, new Notices(), self, Settings.none(), time, random);
        try {
            aggregates = new AggregatesBuilder<>(client, "sim", Ids.class, Ids::merge)
                    .softWindow(SOFT)
                    .hardWindow(HARD)
                    .publishInterval(Duration.ofSeconds(2))
                    .set(AggregateSettings.LEASE, LEASE)
                    .set(AggregateSettings.CLAIM, CLAIM)
                    .set(AggregateSettings.SHARDS, SHARDS)
                    .set(AggregateSettings.TABLE, 8)
                    .set(AggregateSettings.ADD_WAIT, Duration.ZERO)
                    .set(AggregateSettings.ATTEMPTS, ATTEMPTS)
                    .set(AggregateSettings.FLUSHERS, 2)
                    .codec(codec())
                    .sink(this::flush)
                    .through(network.of("i" + number, () -> dead || life != mine))
                    .executor(this::later)
                    .callbacks(Runnable::run)
                    .start();
        } catch (HoldfastException e) {
            die();
        }
    }

    /** Fails for poisoned messages, now with an exception, now with an Error. */
    private Codec<Ids> codec() {
        return new Codec<>() {
            @Override
            public byte[] encode(Ids value) {
                for (long id : value.ids()) {
                    if (bus.poisoned.contains(id)) {
                        if (id % 2 == 0) {
                            throw new StackOverflowError("poisoned " + id);
                        }
                        throw new IllegalStateException("poisoned " + id);
                    }
                }
                return PLAIN.encode(value);
            }

            @Override
            public Ids decode(byte[] bytes) {
                return PLAIN.decode(bytes);
            }
        };
    }

    /** Flushes run at once or some time later. */
    private void later(Runnable task) {
        tasks.add(task);
        if (random.nextInt(3) > 0) {
            runTasks();
        }
    }

    void runTasks() {
        while (!tasks.isEmpty() && !dead) {
            tasks.remove().run();
        }
    }

    private void flush(java.util.List<Flush<Ids>> batch) {
        sink.flush(batch);
        if (network.isFaulty() && random.nextInt(15) == 0) {
            die(); // between sink and commit
        }
    }

    /** Reads on in a partition that is assigned to this instance. */
    void poll(int partition) {
        if (bus.assigned[partition] != number
                || bus.cursor[partition] >= bus.partitions.get(partition).size()) {
            return;
        }
        Message message = bus.partitions.get(partition).get(bus.cursor[partition]);
        long position = bus.cursor[partition];
        int mine = life;
        add(message, Position.at("bus", partition, position)).whenComplete((nothing, failure) -> {
            if (failure != null && !dead && life == mine && bus.assigned[partition] == number) {
                bus.refused.get(partition).add(position);
            }
        });
        bus.cursor[partition]++;
    }

    void acknowledge(int partition) {
        if (bus.assigned[partition] == number) {
            bus.acknowledged[partition] = Math.max(
                    bus.acknowledged[partition],
                    aggregates.durable("bus", partition).orElse(-1));
            network.event(number, "acknowledges " + partition + " up to " + bus.acknowledged[partition]);
        }
    }

    /** Gives up a position that was refused. */
    void skip(int partition) {
        if (bus.assigned[partition] == number && !bus.refused.get(partition).isEmpty()) {
            long position = bus.refused.get(partition).iterator().next();
            bus.refused.get(partition).remove(position);
            bus.skipped.add(bus.partitions.get(partition).get((int) position).id());
            network.event(number, "skips " + position + " of " + partition);
            aggregates.skip(Position.at("bus", partition, position));
        }
    }

    /** The partition is read on from what was acknowledged; whoever had it does not know yet. */
    void take(int partition) {
        bus.assigned[partition] = number;
        bus.cursor[partition] = (int) bus.acknowledged[partition] + 1;
        network.event(number, "reads " + partition + " from " + bus.cursor[partition]);
        bus.refused.get(partition).clear();
        aggregates.rewind("bus", partition);
    }

    void pollQueue() {
        for (var entry : bus.queue.entrySet()) {
            if (entry.getValue() < 0) {
                Message message = entry.getKey();
                int mine = life;
                add(message, Position.id("queue", "m" + message.id())).whenComplete((nothing, failure) -> {
                    if (dead || life != mine) {
                        return;
                    }
                    if (failure == null) {
                        bus.queue.remove(message);
                    } else {
                        bus.queue.replace(message, -1);
                    }
                });
                entry.setValue(number);
                return;
            }
        }
    }

    void addLoose(Message message) {
        bus.loose.add(message.id());
        add(message, null).whenComplete((nothing, failure) -> {
            if (failure == null) {
                bus.durable.add(message.id());
            }
        });
    }

    /** Adds a message again that waits here, and completes the stage: no other caller must be told so. */
    void addAgainAndComplete() {
        for (var entry : bus.queue.entrySet()) {
            if (entry.getValue() == number) {
                Message message = entry.getKey();
                add(message, Position.id("queue", "m" + message.id()))
                        .toCompletableFuture()
                        .complete(null);
                return;
            }
        }
    }

    private CompletionStage<?> add(Message message, @Nullable Position position) {
        String poisoned = bus.poisoned.contains(message.id()) ? ", poisoned" : "";
        network.event(number, "adds " + message + " at " + position + poisoned);
        return aggregates.add(message.key(), Ids.of(message.id()), position, Instant.ofEpochMilli(message.id()));
    }

    void step() {
        if (!dead && !stalled) {
            duties.runDue();
            runTasks();
        }
    }

    /** As kill -9: nothing of it does anything any more. */
    void die() {
        network.event(number, "dies");
        dead = true;
        tasks.clear();
        bus.died(number);
    }
}
