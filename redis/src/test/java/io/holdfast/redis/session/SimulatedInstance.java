package io.holdfast.redis.session;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/** One instance of the real code whose duties, callbacks and death are in the hands of the simulation. */
final class SimulatedInstance {

    static final int SHARDS = 2;
    static final Duration LEASE = Duration.ofSeconds(9);
    static final Duration GRACE = Duration.ofSeconds(5);
    static final Duration CLAIM = Duration.ofSeconds(6);

    final int number;
    private final RedisLink link;
    private final ManualTime time;
    private final RandomGenerator random;
    private final ServedModel model;
    private final FaultyCalls network;
    private final boolean overlap;
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final Map<String, SessionHold> holds = new HashMap<>();
    private final Map<String, Renewed> renewals = new HashMap<>();
    private final Map<String, Asserted> asserted = new HashMap<>();
    private final Map<String, String> grantedUnder = new HashMap<>();
    private final Set<SimulatedInstance> all;

    /** A lease that the server was known to have, and until when it cannot have lapsed. */
    private record Renewed(String lease, long trustedUntil) {}

    /** What the server answered last about a session: in which life, and under which lease it is held here. */
    private record Asserted(String lease, long epoch) {}

    private DutyRunner duties = DutyRunner.manual(new ManualTime());
    private Sessions sessions;
    private boolean dead = true;
    private int life;
    boolean stalled;

    @SuppressWarnings("NullAway") // sessions is set by start()
    SimulatedInstance(
            int number,
            RedisLink link,
            ManualTime time,
            RandomGenerator random,
            ServedModel model,
            FaultyCalls network,
            boolean overlap,
            Set<SimulatedInstance> all) {
        this.number = number;
        this.link = link;
        this.time = time;
        this.random = random;
        this.model = model;
        this.network = network;
        this.overlap = overlap;
        this.all = all;
    }

    boolean isDead() {
        return dead;
    }

    /** The number of its present process. */
    int life() {
        return life;
    }

    Sessions sessions() {
        return sessions;
    }

    /** A new process; a start that gets no answer is no start. */
    void start() {
        dead = false;
        stalled = false;
        life++;
        duties = DutyRunner.manual(time);
        HolderId self = new HolderId("i" + number, random.nextLong());
        Client client = new Client(link, duties, new Notices(), self, Settings.none(), time, random);
        SessionsBuilder builder = new SessionsBuilder(client, "sim")
                .lease(LEASE)
                .grace(GRACE)
                .set(SessionSettings.CLAIM, CLAIM)
                .set(SessionSettings.SHARDS, SHARDS)
                .set(SessionSettings.ATTEMPTS, 99)
                .set(SessionSettings.CLOSING_WAIT, Duration.ZERO)
                .through(network.of(this))
                .executor(this::later)
                .onClose(this::close)
                .onRegained(this::regained);
        try {
            sessions = (overlap ? builder.overlapEpochs() : builder).start();
        } catch (HoldfastException e) {
            die();
        }
    }

    /** Callbacks run at once or some time later, in order. */
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

    private void close(SessionClaim claim) {
        Set<Integer> unsure = new HashSet<>();
        for (SimulatedInstance other : all) {
            if (other.isDead() || !other.isSureOf(claim.id())) {
                unsure.add(other.number);
            }
        }
        model.effect(claim.id(), claim.epoch(), unsure);
        int dice = network.isFaulty() ? random.nextInt(20) : 20;
        if (dice == 0) {
            die(); // between effect and commit
        } else if (dice == 1) {
            throw new IllegalStateException("the handler fails");
        }
    }

    /** By the simulation's own account: granted under the present lease, which it knows to be renewed in time. */
    boolean isSureOf(String id) {
        Renewed renewed = renewals.get(metaKey(id));
        return holds.containsKey(id)
                && renewed != null
                && model.now() < renewed.trustedUntil()
                && renewed.lease().equals(grantedUnder.get(id));
    }

    private String metaKey(String id) {
        return "hf:{session:sim:" + sessions.view().set().shardOf(id) + "}:meta";
    }

    void renewed(String metaKey, String lease, long sentMillis) {
        renewals.put(metaKey, new Renewed(lease, sentMillis + LEASE.toMillis()));
    }

    void asserted(String id, String lease, long epoch) {
        asserted.put(id, new Asserted(lease, epoch));
    }

    /** A grant is of the lease that the server knew when it answered; by the time it is told, that may be another. */
    private void granted(String id, long epoch) {
        Asserted answer = asserted.get(id);
        grantedUnder.put(id, answer != null && answer.epoch() == epoch ? answer.lease() : "");
        model.serves(number, id, epoch);
    }

    private void regained(List<SessionRegained> all) {
        for (SessionRegained regained : all) {
            if (holds.containsKey(regained.id())) {
                granted(regained.id(), regained.epoch());
            }
        }
    }

    void acquire(String id) {
        if (holds.containsKey(id)) {
            return;
        }
        try {
            SessionHold hold = sessions.acquire(id);
            holds.put(id, hold);
            granted(id, hold.epoch());
        } catch (HoldfastException e) {
            if (!e.isRetryable() && e.category() != HoldfastException.Category.FULL) {
                throw e;
            }
        }
    }

    void release(String id) {
        SessionHold hold = holds.remove(id);
        if (hold != null) {
            model.stopped(number, id); // from here on it does not mind
            hold.close();
        }
    }

    /** Holds that the real code itself does not believe in. */
    Set<String> doubted() {
        return holds.entrySet().stream()
                .filter(hold -> !hold.getValue().isValid())
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    Set<String> held() {
        return Set.copyOf(holds.keySet());
    }

    void step() {
        if (!dead && !stalled) {
            duties.runDue();
            runTasks();
        }
    }

    /** As kill -9: nothing of it does anything any more. */
    void die() {
        dead = true;
        holds.clear();
        tasks.clear();
        renewals.clear();
        asserted.clear();
        grantedUnder.clear();
        model.died(number);
    }
}
