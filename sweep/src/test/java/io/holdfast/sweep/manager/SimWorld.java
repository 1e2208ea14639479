package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.random.RandomGenerator;

/**
 * Time, chance and what is under way. One thread: whoever waits lets the world go on, so that a manager that waits for
 * its workers can be overtaken by anything, even by another manager from its first call to its last.
 */
final class SimWorld {

    private static final Duration TICK = Duration.ofSeconds(15);

    private record Event(long at, long number, Runnable action) {}

    final ManualTime time = new ManualTime();
    final RandomGenerator random;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::number));
    /** What happens by itself as time passes: the duties of managers. */
    final List<Runnable> everyTick = new CopyOnWriteArrayList<>();

    private long numbered;
    private int depth;

    /** How likely each thing goes wrong, all at once or one by one; nothing when the world is healed. */
    double lose;

    double repeat;
    double delay;
    double corrupt;

    SimWorld(RandomGenerator random) {
        this.random = random;
    }

    boolean chance(double rate) {
        return rate > 0 && random.nextDouble() < rate;
    }

    Duration between(long fromMillis, long toMillis) {
        return Duration.ofMillis(random.nextLong(fromMillis, toMillis));
    }

    void later(Duration after, Runnable action) {
        events.add(new Event(time.nanoTime() + after.toNanos(), numbered++, action));
    }

    /** Something on its way: it may be lost, arrive twice, or very late. */
    void send(Runnable arrival) {
        if (!chance(lose)) {
            later(latency(), arrival);
        }
        if (chance(repeat)) {
            later(chance(0.3) ? between(1_000, 7_200_000) : latency(), arrival);
        }
    }

    Duration latency() {
        return chance(delay) ? between(100, 20_000) : between(1, 20);
    }

    /** Lets the world go on for so long. */
    void run(Duration atMost) {
        if (depth > 200) {
            throw new AssertionError("the world waits for itself");
        }
        depth++;
        try {
            long until = time.nanoTime() + atMost.toNanos();
            while (!events.isEmpty() && events.peek().at() <= until) {
                Event event = events.remove();
                passUntil(event.at());
                event.action().run();
                everyTick.forEach(Runnable::run);
            }
            passUntil(until);
        } finally {
            depth--;
        }
    }

    private void passUntil(long nanos) {
        while (nanos > time.nanoTime()) {
            long step = everyTick.isEmpty() ? Long.MAX_VALUE : TICK.toNanos();
            time.advance(Duration.ofNanos(Math.min(nanos - time.nanoTime(), step)));
            everyTick.forEach(Runnable::run);
        }
    }

    /** A call with an answer: the question may be lost, or the answer after it was done, or it is done twice. */
    <T> T call(java.util.function.Supplier<T> call, Runnable again) {
        run(Duration.ofMillis(1));
        if (chance(lose)) {
            run(Duration.ofSeconds(1));
            throw new HoldfastException(Category.RETRY, "nothing was heard");
        }
        T answer = call.get();
        if (chance(repeat)) {
            later(between(10, 7_200_000), again);
        }
        if (chance(lose)) {
            run(Duration.ofSeconds(1));
            throw new HoldfastException(Category.RETRY, "the answer was lost");
        }
        return answer;
    }
}
