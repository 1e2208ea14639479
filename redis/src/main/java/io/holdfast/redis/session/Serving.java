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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

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
    private final Set<LocalSession> unsure = ConcurrentHashMap.newKeySet();
    private final boolean[] lostShards;
    private final long marginNanos;

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

    SessionHold acquire(String id) {
        holds.set().check(id);
        while (true) {
            LocalSession session = table.computeIfAbsent(id, LocalSession::new);
            session.lock.lock();
            try {
                if (session.retired) {
                    continue;
                }
                if (!session.isHeld()) {
                    begin(session);
                } else if (session.lost) {
                    regain(session, call(session, () -> holds.acquire(id)));
                }
                session.clients++;
                return new SessionHold(this, session);
            } finally {
                session.lock.unlock();
            }
        }
    }

    private void begin(LocalSession session) {
        try {
            Held held = call(session, () -> holds.acquire(session.id));
            held = awaitEarlierLives(session, held);
            handlers.activate(new SessionActivation(session.id, held.epoch(), held.opened()));
            session.lost = false;
            session.unsure = false;
            session.epoch = held.epoch();
            figures.acquired(held.holders());
        } catch (RuntimeException | Error e) {
            giveUp(session);
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
            unsure.add(session);
            throw e;
        }
    }

    private Held awaitEarlierLives(LocalSession session, Held first) {
        Held held = first;
        boolean opened = first.opened();
        long deadline = time.nanoTime() + closingWait.toNanos();
        Duration pause = FIRST_PAUSE;
        while (!overlap && held.unfinished() > 0) {
            if (time.nanoTime() - deadline >= 0) {
                throw new HoldfastException(
                        Category.RETRY,
                        "an earlier life of session '" + session.id + "' is still being closed after "
                                + closingWait.toMillis() + " ms",
                        "try again; if it lasts, look at 'holdfast sessions show', or opt for overlapEpochs",
                        null);
            }
            LockSupport.parkNanos(pause.toNanos());
            pause = pause.compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
            held = call(session, () -> holds.acquire(session.id));
        }
        return opened && !held.opened() ? new Held(held.id(), held.epoch(), true, 0, held.holders()) : held;
    }

    /** Ends a hold that did not come about. */
    private void giveUp(LocalSession session) {
        session.epoch = 0;
        release(session);
    }

    void leave(LocalSession session) {
        session.lock.lock();
        try {
            if (--session.clients > 0 || session.retired) {
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
            unsure.add(session);
        }
    }

    private void retire(LocalSession session) {
        session.unsure = false;
        session.retired = true;
        table.remove(session.id, session);
        unsure.remove(session);
    }

    boolean isValid(LocalSession session) {
        return session.isHeld()
                && !session.lost
                && holds.trusts(session.id)
                && !holds.isDoubtful(holds.set().shardOf(session.id));
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
        for (int shard = 0; shard < lostShards.length; shard++) {
            long left = holds.trustedFor(shard) - marginNanos;
            if (left > 0) {
                soonest = Math.min(soonest, left);
            } else {
                synchronized (lostShards) {
                    lostShards[shard] = true;
                }
                for (LocalSession session : table.values()) {
                    if (holds.set().shardOf(session.id) == shard && session.isHeld() && !session.lost) {
                        lose(session, session.epoch);
                    }
                }
            }
        }
        return soonest;
    }

    private void lose(LocalSession session, long epoch) {
        session.lost = true;
        figures.lost.increment();
        handlers.lost(session, new SessionLost(session.id, epoch));
    }

    /**
     * Brings store and instance to agree again where they may not, in the shards that a heartbeat has just reached: the
     * others would only keep these waiting. Answers whether they agree everywhere.
     */
    boolean repair(List<Condition> conditions) {
        boolean whole = releaseUnsure(conditions);
        for (int shard = 0; shard < lostShards.length; shard++) {
            if (conditions.get(shard) == Condition.UNREACHABLE) {
                whole = false;
                continue;
            }
            boolean wasLost;
            synchronized (lostShards) {
                wasLost = lostShards[shard];
            }
            if (!holds.isDoubtful(shard) && !(wasLost && holds.trustedFor(shard) > 0)) {
                continue;
            }
            int doubts = holds.doubts(shard);
            if (assertAll(shard)) {
                holds.settleDoubts(shard, doubts);
                synchronized (lostShards) {
                    lostShards[shard] = false;
                }
            } else {
                whole = false;
            }
        }
        return whole;
    }

    private boolean releaseUnsure(List<Condition> conditions) {
        boolean all = true;
        for (LocalSession session : List.copyOf(unsure)) {
            boolean reached = conditions.get(holds.set().shardOf(session.id)) != Condition.UNREACHABLE;
            if (!reached || !session.lock.tryLock()) {
                all = false;
                continue;
            }
            try {
                if (session.retired || !session.unsure) {
                    unsure.remove(session);
                } else if (!session.isHeld()) {
                    release(session);
                    all &= session.retired;
                } else {
                    regain(session, call(session, () -> holds.acquire(session.id)));
                    session.unsure = false;
                }
            } catch (HoldfastException e) {
                all = false;
            } finally {
                session.lock.unlock();
            }
        }
        return all;
    }

    private boolean assertAll(int shard) {
        boolean all = true;
        List<LocalSession> batch = new ArrayList<>();
        try {
            for (LocalSession session : table.values()) {
                if (holds.set().shardOf(session.id) != shard) {
                    continue;
                }
                if (!session.lock.tryLock()) {
                    all = false; // somebody is at it; the next round meets it again
                    continue;
                }
                batch.add(session);
                if (batch.size() == BATCH) {
                    all &= assertBatch(shard, batch);
                    unlock(batch);
                }
            }
            boolean rest = assertBatch(shard, batch);
            return all && rest;
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            return false; // a shard that does not answer keeps nobody from the others
        } finally {
            unlock(batch);
        }
    }

    private boolean assertBatch(int shard, List<LocalSession> batch) {
        List<LocalSession> held = batch.stream()
                .filter(session -> session.isHeld() && !session.retired)
                .toList();
        List<Held> answers =
                holds.acquireAll(shard, held.stream().map(session -> session.id).toList());
        boolean all = true;
        for (int i = 0; i < held.size(); i++) {
            all &= regain(held.get(i), answers.get(i));
        }
        return all;
    }

    private static void unlock(List<LocalSession> batch) {
        batch.forEach(session -> session.lock.unlock());
        batch.clear();
    }

    /** Takes note of what the store says of a session that this instance serves. Only under its lock. */
    private boolean regain(LocalSession session, Held held) {
        long before = session.epoch;
        boolean waits = !overlap && held.unfinished() > 0;
        if (held.epoch() == before && !session.lost && !waits) {
            return true;
        }
        if (!session.lost) {
            lose(session, before);
        }
        if (waits || !holds.trusts(session.id)) {
            return false;
        }
        session.epoch = held.epoch();
        session.lost = false;
        figures.regained.increment();
        handlers.regained(session, new SessionRegained(session.id, before, held.epoch()));
        return true;
    }

    /** Releases everything, on purpose. What cannot be reached lapses. */
    void releaseAll() {
        for (LocalSession session : table.values()) {
            session.lock.lock();
            try {
                if (!session.retired) {
                    session.clients = 0;
                    session.epoch = 0;
                    release(session);
                }
            } finally {
                session.lock.unlock();
            }
        }
    }

    int size() {
        return table.size();
    }
}
