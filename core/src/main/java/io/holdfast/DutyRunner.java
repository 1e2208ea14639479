package io.holdfast;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs any number of duties on a few threads.
 *
 * <h2>What it promises</h2>
 *
 * <ul>
 *   <li>A duty's steps never overlap: between two of them it is in the queue, during one it is not.
 *   <li>A duty runs when it wished to, or at once when woken. A wake that arrives during a step is not lost: the step
 *       is followed by another.
 *   <li>An exception never ends a duty. It is reported, and the step is tried again after a pause that doubles from 100
 *       ms to 30 s and starts over after the first step that succeeds.
 *   <li>Duties take turns: one that always wants to run at once goes behind the others that are due.
 *   <li>A step that takes long, or for ever, as the application's own code in it may, keeps no other duty waiting for it:
 *       what is overdue for half a second while all threads are busy gets a thread of its own, a bounded number of them.
 *   <li>{@link #close()} starts no further step, waits for those that run, and interrupts what is left after the
 *       given patience.
 * </ul>
 *
 * <h2>Time</h2>
 *
 * All waiting is on the monotonic clock. A runner made by {@link #manual} has no threads: the test moves its {@link
 * ManualTime} and calls {@link #runDue()}, so the whole system steps in a known order.
 */
public final class DutyRunner implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(DutyRunner.class.getName());
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration OVERDUE = Duration.ofMillis(500);
    private static final int RELIEFS_MAX = 16;

    /** Told of every step that failed, besides the log. */
    @FunctionalInterface
    public interface FailureListener {
        void onFailure(Duty duty, Throwable failure, int inARow);
    }

    private final Time time;
    private final FailureListener failures;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Where the relief waits, who looks by itself: waking it for every step would cost more than it brings. */
    private final Condition standby = lock.newCondition();

    private final PriorityQueue<Entry> queue = new PriorityQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private int reliefs;
    private boolean standingBy;
    private long turns;
    private volatile boolean stopped;

    private DutyRunner(Time time, FailureListener failures) {
        this.time = time;
        this.failures = failures;
    }

    /** A runner with the given number of daemon threads. */
    public static DutyRunner start(int threads, FailureListener failures) {
        if (threads < 1) {
            throw HoldfastException.misuse("a duty runner with " + threads + " threads", "give at least 1");
        }
        DutyRunner runner = new DutyRunner(Time.system(), failures);
        for (int i = 1; i <= threads; i++) {
            Thread thread =
                    Thread.ofPlatform().daemon().name("holdfast-duty-" + i).unstarted(runner::work);
            runner.threads.add(thread);
        }
        runner.threads.forEach(Thread::start);
        runner.standBy();
        return runner;
    }

    public static DutyRunner start(int threads) {
        return start(threads, (duty, failure, inARow) -> {});
    }

    /** A runner without threads: {@link #runDue()} does the work. */
    public static DutyRunner manual(Time time) {
        return new DutyRunner(time, (duty, failure, inARow) -> {});
    }

    /** Takes on a duty; its first step is due at once. */
    public Assignment add(Duty duty) {
        lock.lock();
        try {
            if (stopped) {
                throw HoldfastException.misuse("the duty runner is closed", "open a new Holdfast client");
            }
            Entry entry = new Entry(duty, time.nanoTime());
            queue.add(entry);
            changed.signalAll();
            return entry;
        } finally {
            lock.unlock();
        }
    }

    /** A duty's place in the runner. */
    public sealed interface Assignment extends AutoCloseable {
        /** Wants the next step at once. */
        void wake();

        /** Wants the next step no later than this. */
        void wakeIn(Duration delay);

        /** Gives the duty up: no further step starts. A step that runs in another thread is waited for. */
        @Override
        void close();
    }

    /** Runs what is due now, in order of wish, each duty at most once, and returns how many steps that were. */
    public int runDue() {
        long now = time.nanoTime();
        List<Entry> due = new ArrayList<>();
        lock.lock();
        try {
            while (!queue.isEmpty() && queue.peek().dueNanos - now <= 0) {
                due.add(take());
            }
        } finally {
            lock.unlock();
        }
        due.forEach(this::runStep);
        return due.size();
    }

    /** How long until the earliest wish; empty if there are no duties. */
    public Optional<Duration> untilNext() {
        lock.lock();
        try {
            Entry first = queue.peek();
            return Optional.ofNullable(first)
                    .map(entry -> Duration.ofNanos(Math.max(0, entry.dueNanos - time.nanoTime())));
        } finally {
            lock.unlock();
        }
    }

    private void work() {
        while (true) {
            Entry entry;
            try {
                entry = awaitDue();
            } catch (InterruptedException e) {
                return;
            }
            if (entry == null) {
                return;
            }
            runStep(entry);
        }
    }

    /** Starts a thread that waits until the others are overdue, and then runs one step in their place. */
    private void standBy() {
        lock.lock();
        try {
            if (stopped || standingBy || reliefs == RELIEFS_MAX) {
                return;
            }
            standingBy = true;
            reliefs++;
            Thread relief = Thread.ofPlatform()
                    .daemon()
                    .name("holdfast-duty-relief-" + reliefs)
                    .unstarted(this::relieve);
            threads.add(relief);
            relief.start();
        } finally {
            lock.unlock();
        }
    }

    private void relieve() {
        try {
            Entry entry = awaitOverdue();
            if (entry != null) {
                standBy(); // the next one, while this one works
                runStep(entry);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            relieved();
        }
    }

    private void relieved() {
        lock.lock();
        try {
            threads.remove(Thread.currentThread());
            reliefs--;
        } finally {
            lock.unlock();
        }
        standBy(); // if there were too many of them at work
    }

    private @Nullable Entry awaitOverdue() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!stopped) {
                Entry first = queue.peek();
                if (first != null && time.nanoTime() - first.dueNanos >= OVERDUE.toNanos()) {
                    standingBy = false;
                    return take();
                }
                standby.awaitNanos(OVERDUE.toNanos());
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Entry awaitDue() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!stopped) {
                Entry first = queue.peek();
                if (first == null) {
                    changed.await();
                    continue;
                }
                long wait = first.dueNanos - time.nanoTime();
                if (wait <= 0) {
                    return take();
                }
                changed.awaitNanos(wait);
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Removes the first entry from the queue and marks it running. Only under the lock. */
    private Entry take() {
        Entry entry = queue.remove();
        entry.runner = Thread.currentThread();
        return entry;
    }

    private void runStep(Entry entry) {
        Duration next = Duration.ZERO;
        try {
            next = entry.duty.step().next();
            entry.failedInARow = 0;
        } catch (Throwable failure) {
            // Not even an Error may end a duty; a duty that was interrupted by close() is not put back.
            entry.failedInARow++;
            next = pauseAfter(entry.failedInARow);
            report(entry, failure, next);
        } finally {
            putBack(entry, next);
        }
    }

    private void putBack(Entry entry, Duration next) {
        lock.lock();
        try {
            entry.runner = null;
            if (!entry.closed && !stopped) {
                long now = time.nanoTime();
                long wish = entry.wokenFor == null ? Long.MAX_VALUE : Math.max(0, entry.wokenFor - now);
                entry.dueNanos = now + Math.min(saturatedNanos(next), wish);
                entry.wokenFor = null;
                entry.turn = ++turns;
                queue.add(entry);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void report(Entry entry, Throwable failure, Duration pause) {
        if (entry.closed || stopped) {
            return;
        }
        boolean passing = failure instanceof HoldfastException e && e.isRetryable();
        Level level = passing && entry.failedInARow < 5 ? Level.DEBUG : Level.WARNING;
        int inARow = entry.failedInARow;
        LOG.log(
                level,
                () -> "duty '" + entry.duty.name() + "' failed (" + inARow + " in a row), next try in "
                        + pause.toMillis() + " ms: " + failure);
        try {
            failures.onFailure(entry.duty, failure, inARow);
        } catch (RuntimeException e) {
            LOG.log(Level.WARNING, "a failure listener failed", e);
        }
    }

    private static Duration pauseAfter(int failuresInARow) {
        long millis = FIRST_PAUSE.toMillis() << Math.min(failuresInARow - 1, 16);
        return Duration.ofMillis(Math.min(millis, LONGEST_PAUSE.toMillis()));
    }

    private static long saturatedNanos(Duration duration) {
        // A year is as good as for ever, and cannot overflow a sum with the clock.
        return duration.compareTo(Duration.ofDays(365)) > 0
                ? Duration.ofDays(365).toNanos()
                : duration.toNanos();
    }

    @Override
    public void close() {
        close(PATIENCE);
    }

    /** Stops: starts no further step, waits so long for those that run, then interrupts them. */
    public void close(Duration patience) {
        List<Thread> running;
        lock.lock();
        try {
            stopped = true;
            queue.clear();
            changed.signalAll();
            standby.signalAll();
            running = List.copyOf(threads);
        } finally {
            lock.unlock();
        }
        long deadline = System.nanoTime() + patience.toNanos();
        for (Thread thread : running) {
            if (!join(thread, deadline - System.nanoTime())) {
                thread.interrupt();
                join(thread, TimeUnit.SECONDS.toNanos(1));
            }
        }
    }

    private static boolean join(Thread thread, long nanos) {
        if (thread.equals(Thread.currentThread())) {
            return true; // a duty that closes its own runner ends by itself
        }
        try {
            return thread.join(Duration.ofNanos(Math.max(1, nanos)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private final class Entry implements Assignment, Comparable<Entry> {

        final Duty duty;
        long dueNanos;
        /** When a wake that came during a step wants the next one; null if none came. */
        @Nullable
        Long wokenFor;
        /** Breaks ties, so that duties which are due at the same time take turns. */
        long turn;

        /** Touched only by the thread that runs the step; the lock hands it from one to the next. */
        int failedInARow;

        volatile boolean closed;
        /** The thread that runs a step of this duty; null between steps. */
        @Nullable
        Thread runner;

        Entry(Duty duty, long dueNanos) {
            this.duty = duty;
            this.dueNanos = dueNanos;
            this.turn = ++turns;
        }

        @Override
        public void wake() {
            wakeIn(Duration.ZERO);
        }

        @Override
        public void wakeIn(Duration delay) {
            long at = time.nanoTime() + Math.max(0, saturatedNanos(delay));
            lock.lock();
            try {
                if (closed || stopped) {
                    return;
                }
                if (runner != null) {
                    wokenFor = wokenFor == null || at - wokenFor < 0 ? at : wokenFor;
                } else if (at - dueNanos < 0) {
                    queue.remove(this);
                    dueNanos = at;
                    queue.add(this);
                    changed.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void close() {
            lock.lock();
            try {
                closed = true;
                queue.remove(this);
                while (runner != null && !runner.equals(Thread.currentThread())) {
                    changed.await();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public int compareTo(Entry other) {
            int byTime = Long.compare(dueNanos - other.dueNanos, 0);
            return byTime != 0 ? byTime : Long.compare(turn, other.turn);
        }
    }
}
