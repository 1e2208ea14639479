package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Lets callers that wait at the same time share a round trip.
 *
 * <p>There are a few turns. A caller that finds one free sends its call at once. The others queue; whoever ends a turn
 * passes it to the first in the queue, who takes along those behind it and sends all of them as one pipeline. So with
 * few callers nothing is added to a call, with many the server reads and answers dozens of them by one system call, and
 * no caller is overtaken for longer than a turn takes.
 *
 * <p>A caller waits for a turn no longer than the link's time-out; then it takes its call back and fails with RETRY.
 */
final class Gathering {

    /** Calls that share a round trip at most. */
    static final int MOST = 64;

    private enum State {
        QUEUED,
        LEADS,
        ANSWERED
    }

    private static final class Waiting {
        final Call call;
        final Thread caller = Thread.currentThread();
        volatile State state = State.QUEUED;
        volatile @Nullable Outcome outcome;

        Waiting(Call call) {
            this.call = call;
        }

        void answer(Outcome given) {
            outcome = given;
            become(State.ANSWERED);
        }

        void become(State next) {
            state = next;
            LockSupport.unpark(caller);
        }
    }

    private final Semaphore turns;
    private final Duration patience;
    private final Function<List<Call>, List<Outcome>> send;
    private final Queue<Waiting> queue = new ConcurrentLinkedQueue<>();

    /**
     * @param send answers each call, in order; must not throw
     */
    Gathering(int turns, Duration patience, Function<List<Call>, List<Outcome>> send) {
        this.turns = new Semaphore(turns);
        this.patience = patience;
        this.send = send;
    }

    Outcome call(Call call) {
        Waiting mine = new Waiting(call);
        if (queue.isEmpty() && turns.tryAcquire()) {
            return lead(mine);
        }
        queue.add(mine);
        wakeFirst();
        return await(mine);
    }

    private Outcome await(Waiting mine) {
        long deadline = System.nanoTime() + patience.toNanos();
        boolean interrupted = false;
        try {
            while (mine.state == State.QUEUED) {
                long left = deadline - System.nanoTime();
                if (left <= 0 && queue.remove(mine)) {
                    return new Outcome(null, waitedInVain(mine));
                }
                // Taken by somebody, if not in the queue any more: an answer is due within the link's time-out.
                LockSupport.parkNanos(this, left > 0 ? left : patience.toNanos());
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        Outcome outcome = mine.outcome;
        return outcome != null ? outcome : lead(mine);
    }

    private HoldfastException waitedInVain(Waiting mine) {
        return new HoldfastException(
                Category.RETRY,
                mine.call.script().name() + ": no connection became free within " + patience.toMillis() + " ms");
    }

    /** Has a turn: sends its own call and what waits behind it. */
    private Outcome lead(Waiting mine) {
        List<Waiting> together = new ArrayList<>();
        try {
            together.add(mine);
            for (Waiting next = queue.poll(); next != null; next = together.size() < MOST ? queue.poll() : null) {
                together.add(next);
            }
            List<Outcome> outcomes =
                    send.apply(together.stream().map(waiting -> waiting.call).toList());
            for (int i = 1; i < together.size(); i++) {
                together.get(i).answer(outcomes.get(i));
            }
            return outcomes.getFirst();
        } catch (Throwable t) {
            for (Waiting other : together.subList(1, together.size())) {
                other.answer(new Outcome(
                        null, new HoldfastException(Category.RETRY, "the call that shared the connection failed", t)));
            }
            throw t;
        } finally {
            turns.release();
            wakeFirst();
        }
    }

    /** Gives a free turn, if there is one, to the first in the queue. */
    private void wakeFirst() {
        while (!queue.isEmpty() && turns.tryAcquire()) {
            Waiting first = queue.poll();
            if (first != null) {
                first.become(State.LEADS);
                return;
            }
            turns.release();
        }
    }
}
