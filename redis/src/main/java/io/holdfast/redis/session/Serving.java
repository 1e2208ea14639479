package io.holdfast.redis.session;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.hold.Held;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Holds.Condition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The sessions that this instance serves. The first client of a session acquires it, the others only count, and the
 * last one out releases it. What the store may not know any more is asserted again, and what it may know in error is
 * released again, by {@link #repair}.
 */
final class Serving {

    private static final int BATCH = 128;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(250);

    private final Holds holds;
    private final HoldView view;
    private final SessionHandlers handlers;
    private final SessionFigures figures;
    private final Time time;
    private final boolean overlap;
    private final Duration closingWait;
    private final long dataLimit;

    private final ConcurrentHashMap<String, LocalSession> table = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<String, LocalSession> unsure = new ConcurrentHashMap<>();
    private final Queue<LocalSession> dropped = new ConcurrentLinkedQueue<>();
    private final boolean[] lostShards;
    private final long marginNanos;
    private volatile boolean closed;

    Serving(
            Holds holds,
            HoldView view,
            SessionHandlers handlers,
            SessionFigures figures,
            Time time,
            SessionRules rules) {
        this.holds = holds;
        this.view = view;
        this.handlers = handlers;
        this.figures = figures;
        this.time = time;
        this.overlap = rules.overlapEpochs();
        this.closingWait = rules.closingWait();
        this.dataLimit = rules.dataLimit();
        this.marginNanos = rules.lease().toNanos() / 20;
        this.lostShards = new boolean[holds.set().shards()];
    }

    SessionHold acquire(String id, Duration wait) {
        holds.set().check(id);
        long arrived = System.nanoTime();
        long deadline = time.nanoTime() + wait.toNanos();
        while (true) {
            if (closed) {
                throw closedAlready();
            }
            LocalSession session = table.computeIfAbsent(id, LocalSession::new);
            lockInTime(session, wait);
            try {
                if (session.retired) {
                    continue;
                }
                HoldfastException failure = session.failure;
                if (failure != null && session.failedNanos - arrived >= 0) {
                    // The call that this one waited for got no answer: another one would only wait as long again.
                    throw new HoldfastException(failure.category(), String.valueOf(failure.getMessage()), failure);
                }
                if (!session.isHeld()) {
                    begin(session, deadline);
                } else if (session.lost) {
                    awaitRegained(session, deadline);
                }
                if (closed) {
                    session.clients = 0;
                    giveUp(session);
                    throw closedAlready();
                }
                session.clients++;
                return new SessionHold(this, session);
            } finally {
                session.lock.unlock();
            }
        }
    }

    private void lockInTime(LocalSession session, Duration wait) {
        try {
            if (!session.lock.tryLock(holds.patience().plus(wait).toNanos(), TimeUnit.NANOSECONDS)) {
                throw new HoldfastException(
                        Category.RETRY, "session '" + session.id + "' waits for an earlier call that got no answer");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "interrupted while acquiring session '" + session.id + "'", e);
        }
    }

    /** A session that is lost here may be in the middle of being closed elsewhere: a hold is given when it is sure again. */
    private void awaitRegained(LocalSession session, long deadline) {
        Duration pause = FIRST_PAUSE;
        while (true) {
            int doubts = doubts(session);
            Held held = call(session, () -> holds.acquire(session.id));
            List<SessionRegained> regained = new ArrayList<>();
            if (regain(session, held, doubts, new ArrayList<>(), regained)) {
                handlers.regained(regained);
                return;
            }
            if (!holds.trusts(session.id)) {
                throw new HoldfastException(
                        Category.RETRY, "the lease of this instance is late: session '" + session.id + "' is not sure");
            }
            pause = pauseBefore(session, deadline, pause);
        }
    }

    /** Nobody renews a lease that would be taken now. */
    private HoldfastException closedAlready() {
        return HoldfastException.misuse(
                "sessions '" + holds.set().name() + "' are closed in this instance", "acquire before close()");
    }

    private int doubts(LocalSession session) {
        return holds.doubts(holds.set().shardOf(session.id));
    }

    private void begin(LocalSession session, long deadline) {
        try {
            int doubts = doubts(session);
            Held held = call(session, () -> holds.acquire(session.id));
            held = awaitEarlierLives(session, held, deadline);
            handlers.activate(new SessionActivation(session.id, held.epoch(), held.opened()));
            session.lost = false;
            session.unsure = false;
            session.sureSince = doubts;
            session.epoch = held.epoch();
            figures.acquired(held.holders());
            session.failure = null;
        } catch (RuntimeException | Error e) {
            if (session.unsure) {
                session.epoch = 0; // the store did not answer: repair releases it
            } else {
                giveUp(session);
            }
            throw e;
        }
    }

    private interface StoreCall {
        Held now();
    }

    private Held call(LocalSession session, StoreCall call) {
        try {
            return call.now();
        } catch (HoldfastException e) {
            session.unsure = true;
            session.failure = e;
            session.failedNanos = System.nanoTime();
            unsure.put(session.id, session);
            throw e;
        }
    }

    private Held awaitEarlierLives(LocalSession session, Held first, long deadline) {
        Held held = first;
        boolean opened = first.opened();
        Duration pause = FIRST_PAUSE;
        while (!overlap && held.unfinished() > 0) {
            pause = pauseBefore(session, deadline, pause);
            held = call(session, () -> holds.acquire(session.id));
        }
        return opened && !held.opened() ? new Held(held.id(), held.epoch(), true, 0, held.holders()) : held;
    }

    /** Waits for an earlier life to be closed; returns the next pause. */
    private Duration pauseBefore(LocalSession session, long deadline, Duration pause) {
        if (time.nanoTime() - deadline >= 0) {
            throw stillClosing(session.id);
        }
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "interrupted while acquiring session '" + session.id + "'", e);
        }
        return pause.compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
    }

    private static HoldfastException stillClosing(String id) {
        return new HoldfastException(
                Category.RETRY,
                "an earlier life of session '" + id + "' is still being closed",
                "try again; if it lasts, look at 'holdfast sessions show', or opt for overlapEpochs",
                null);
    }

    /** Idle mode: lets a session live for another idle time, after an earlier life of it is closed. */
    Held touch(String id) {
        long deadline = time.nanoTime() + closingWait.toNanos();
        LocalSession session = new LocalSession(id);
        Held held = holds.touch(id);
        Duration pause = FIRST_PAUSE;
        while (!overlap && held.unfinished() > 0) {
            pause = pauseBefore(session, deadline, pause);
            held = holds.touch(id);
        }
        return held;
    }

    /** Ends a hold that did not come about. */
    private void giveUp(LocalSession session) {
        session.epoch = 0;
        release(session);
    }

    /** One client less, for a caller that must not wait: {@link #repair} releases the session if it was the last one. */
    void leaveLater(LocalSession session) {
        dropped.add(session);
    }

    /** Takes note of holds that were dropped without close. */
    void countDropped() {
        int count = dropped.size();
        for (int i = 0; i < count; i++) {
            LocalSession session = dropped.remove();
            if (!session.lock.tryLock()) {
                dropped.add(session);
                continue;
            }
            try {
                if (--session.clients == 0 && !session.retired) {
                    session.epoch = 0;
                    session.lost = false;
                    session.unsure = true;
                    unsure.put(session.id, session);
                }
            } finally {
                session.lock.unlock();
            }
        }
    }

    /** Waits no longer than a call for another one that is under way; then {@link #repair} releases the session. */
    void leave(LocalSession session) {
        try {
            if (!session.lock.tryLock(holds.patience().toNanos(), TimeUnit.NANOSECONDS)) {
                leaveLater(session);
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            leaveLater(session);
            return;
        }
        try {
            if (--session.clients > 0 || session.retired || closed) {
                return;
            }
            session.epoch = 0;
            session.lost = false;
            release(session);
            figures.released.increment();
        } finally {
            session.lock.unlock();
        }
        handlers.released();
    }

    /** Only under the session's lock, and only when it is not held. */
    private void release(LocalSession session) {
        try {
            holds.release(session.id);
            retire(session);
        } catch (HoldfastException e) {
            // Not our caller's problem: it is released again by repair, or lapses with our lease.
            session.unsure = true;
            unsure.put(session.id, session);
        }
    }

    private void retire(LocalSession session) {
        session.unsure = false;
        session.retired = true;
        table.remove(session.id, session);
        unsure.remove(session.id, session);
    }

    boolean isValid(LocalSession session) {
        return session.isHeld() && !session.lost && holds.trusts(session.id) && session.sureSince == doubts(session);
    }

    void put(LocalSession session, Map<String, String> fields) {
        fields.forEach((name, value) -> {
            if (name.isEmpty()) {
                throw HoldfastException.misuse("a data field without a name", "name the field");
            }
        });
        holds.put(session.id, heldEpoch(session), dataLimit, fields);
    }

    Map<String, String> data(LocalSession session) {
        return view.data(session.id, heldEpoch(session));
    }

    private static long heldEpoch(LocalSession session) {
        long epoch = session.epoch;
        if (epoch == 0) {
            throw new HoldfastException(Category.GONE, "session '" + session.id + "' is no longer held here");
        }
        return epoch;
    }

    /** Tells of sessions whose lease this instance can no longer trust; answers for how long the others still can be. */
    long tellLost() {
        long soonest = Long.MAX_VALUE;
        List<SessionLost> lost = new ArrayList<>();
        for (int shard = 0; shard < lostShards.length; shard++) {
            long left = holds.trustedFor(shard) - marginNanos;
            if (left > 0) {
                soonest = Math.min(soonest, left);
            } else {
                for (LocalSession session : table.values()) {
                    if (holds.set().shardOf(session.id) == shard && session.isHeld() && !session.lost) {
                        lose(session, session.epoch, lost);
                    }
                }
                synchronized (lostShards) {
                    lostShards[shard] = true; // at last: what a repair regained meanwhile may be among those just lost
                }
            }
        }
        handlers.lost(lost);
        return soonest;
    }

    private void lose(LocalSession session, long epoch, List<SessionLost> told) {
        session.lost = true;
        figures.lost.increment();
        told.add(new SessionLost(session.id, epoch));
    }

    /**
     * Brings store and instance to agree again where they may not, in the shards that a heartbeat has just reached: the
     * others would only keep these waiting. So does a shard that stops answering, which is left alone after the first call,
     * and a store that is slow: what is not done by the deadline is done after the next heartbeat. Answers whether they agree
     * everywhere.
     */
    boolean repair(List<Condition> conditions, long deadlineNanos) {
        boolean whole = true;
        for (int shard = 0; shard < lostShards.length; shard++) {
            whole &= conditions.get(shard) != Condition.UNREACHABLE && repair(shard, deadlineNanos);
        }
        return whole;
    }

    private boolean repair(int shard, long deadlineNanos) {
        boolean wasLost;
        synchronized (lostShards) {
            wasLost = lostShards[shard] && holds.trustedFor(shard) > 0;
        }
        int doubts = holds.doubts(shard);
        try {
            boolean whole = releaseUnsure(shard, deadlineNanos);
            if (!wasLost && !holds.isDoubtful(shard)) {
                return whole;
            }
            if (!assertAll(shard, doubts, deadlineNanos)) {
                return false;
            }
            holds.settleDoubts(shard, doubts);
            if (wasLost) {
                settleLost(shard);
            }
            return whole;
        } catch (HoldfastException e) {
            holds.refused(shard, e);
            return false;
        }
    }

    /** Unless one was lost again since it was asserted. */
    private void settleLost(int shard) {
        synchronized (lostShards) {
            lostShards[shard] = table.values().stream()
                    .anyMatch(session -> session.lost && holds.set().shardOf(session.id) == shard);
        }
    }

    private interface BatchCall {
        boolean now(List<LocalSession> batch);
    }

    /** Does something with the sessions of a shard that want it, in batches and under their locks. */
    private boolean inBatches(
            Iterable<LocalSession> sessions,
            int shard,
            Predicate<LocalSession> wants,
            long deadlineNanos,
            BatchCall call) {
        boolean all = true;
        List<LocalSession> batch = new ArrayList<>();
        try {
            for (LocalSession session : sessions) {
                if (holds.set().shardOf(session.id) != shard || !wants.test(session)) {
                    continue;
                }
                if (!session.lock.tryLock()) {
                    all = false; // somebody is at it; the next round meets it again
                    continue;
                }
                batch.add(session);
                if (batch.size() == BATCH) {
                    all &= call.now(batch);
                    unlock(batch);
                    if (time.nanoTime() - deadlineNanos >= 0) {
                        return false;
                    }
                }
            }
            return (batch.isEmpty() || call.now(batch)) && all;
        } finally {
            unlock(batch);
        }
    }

    private boolean releaseUnsure(int shard, long deadlineNanos) {
        return inBatches(List.copyOf(unsure.values()), shard, session -> true, deadlineNanos, batch -> {
            List<LocalSession> open = batch.stream()
                    .filter(session -> session.unsure && !session.retired)
                    .toList();
            batch.stream()
                    .filter(session -> !open.contains(session))
                    .forEach(session -> unsure.remove(session.id, session));
            List<LocalSession> over =
                    open.stream().filter(session -> !session.isHeld()).toList();
            holds.releaseAll(shard, over.stream().map(session -> session.id).toList());
            over.forEach(this::retire);
            List<LocalSession> held = open.stream().filter(LocalSession::isHeld).toList();
            boolean all = assertBatch(shard, held);
            held.forEach(session -> {
                session.unsure = false;
                unsure.remove(session.id, session);
            });
            return all;
        });
    }

    private boolean assertAll(int shard, int doubts, long deadlineNanos) {
        Predicate<LocalSession> wants = session -> session.lost || session.sureSince != doubts;
        return inBatches(table.values(), shard, wants, deadlineNanos, batch -> assertBatch(shard, batch));
    }

    private boolean assertBatch(int shard, List<LocalSession> batch) {
        int doubts = holds.doubts(shard);
        List<LocalSession> held = batch.stream()
                .filter(session -> session.isHeld() && !session.retired)
                .toList();
        List<Held> answers =
                holds.acquireAll(shard, held.stream().map(session -> session.id).toList());
        boolean all = true;
        List<SessionLost> lost = new ArrayList<>();
        List<SessionRegained> regained = new ArrayList<>();
        for (int i = 0; i < held.size(); i++) {
            all &= regain(held.get(i), answers.get(i), doubts, lost, regained);
        }
        handlers.lost(lost);
        handlers.regained(regained);
        return all;
    }

    private static void unlock(List<LocalSession> batch) {
        batch.forEach(session -> session.lock.unlock());
        batch.clear();
    }

    /** Takes note of what the store says of a session that this instance serves. Only under its lock. */
    private boolean regain(
            LocalSession session, Held held, int doubts, List<SessionLost> lost, List<SessionRegained> regained) {
        long before = session.epoch;
        boolean waits = !held.isOpen() || (!overlap && held.unfinished() > 0);
        if (held.epoch() == before && !session.lost && !waits) {
            session.sureSince = doubts;
            return true;
        }
        if (!session.lost) {
            lose(session, before, lost);
        }
        if (waits || !holds.trusts(session.id)) {
            synchronized (lostShards) {
                lostShards[holds.set().shardOf(session.id)] = true; // so that it is asserted again
            }
            return false;
        }
        session.sureSince = doubts;
        session.epoch = held.epoch();
        session.lost = false;
        figures.regained.increment();
        regained.add(new SessionRegained(session.id, before, held.epoch(), held.opened()));
        return true;
    }

    /**
     * Releases everything, on purpose, all shards in the same round trips. What cannot be reached lapses; sessions that another
     * thread has locked are released by that thread. Returns false if the store is silent.
     */
    boolean releaseAll() {
        closed = true;
        Set<Integer> reachable = new TreeSet<>();
        for (int shard = 0; shard < lostShards.length; shard++) {
            reachable.add(shard);
        }
        while (!reachable.isEmpty()) {
            Map<Integer, List<LocalSession>> wave = nextWave(reachable);
            try {
                Map<Integer, List<String>> ids = new TreeMap<>();
                wave.forEach((shard, some) ->
                        ids.put(shard, some.stream().map(one -> one.id).toList()));
                reachable.retainAll(wave.keySet());
                reachable.retainAll(holds.releaseTogether(ids));
                wave.forEach((shard, some) -> {
                    if (reachable.contains(shard)) {
                        some.forEach(this::retire);
                    }
                });
                if (!wave.isEmpty() && reachable.isEmpty()) {
                    return false;
                }
            } finally {
                wave.values().forEach(some -> some.forEach(session -> session.lock.unlock()));
            }
        }
        return true;
    }

    /** Up to a batch of sessions of each shard, locked. */
    private Map<Integer, List<LocalSession>> nextWave(Set<Integer> shards) {
        Map<Integer, List<LocalSession>> wave = new TreeMap<>();
        for (LocalSession session : table.values()) {
            int shard = holds.set().shardOf(session.id);
            List<LocalSession> some = wave.getOrDefault(shard, List.of());
            if (!shards.contains(shard) || some.size() == BATCH || !session.lock.tryLock()) {
                continue;
            }
            if (session.retired) {
                session.lock.unlock();
                continue;
            }
            session.clients = 0;
            session.epoch = 0;
            wave.computeIfAbsent(shard, it -> new ArrayList<>()).add(session);
        }
        return wave;
    }

    int size() {
        return table.size();
    }
}
