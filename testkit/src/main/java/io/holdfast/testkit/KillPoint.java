package io.holdfast.testkit;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Where a {@link ChildJvm} dies or stands still: what the code under test calls with the name of each critical point it
 * reaches. How code names its points is told at {@link ChildJvm}.
 */
public final class KillPoint implements Consumer<String> {

    static final String PROPERTY = "holdfast.test.killpoint";

    private static final String ANY = "*";

    private enum Fate {
        KILL,
        STALL
    }

    private final Fate fate;
    private final String name;
    private final int nth;
    private final AtomicInteger reached = new AtomicInteger();

    private KillPoint(Fate fate, String name, int nth) {
        if (nth < 1) {
            throw new IllegalArgumentException("points are counted from 1, not " + nth);
        }
        this.fate = fate;
        this.name = name;
        this.nth = nth;
    }

    /** SIGKILL to its own process when the named point is reached the nth time. */
    public static KillPoint at(String name, int nth) {
        return new KillPoint(Fate.KILL, name, nth);
    }

    /** SIGSTOP to its own process when the named point is reached the nth time. */
    public static KillPoint stallAt(String name, int nth) {
        return new KillPoint(Fate.STALL, name, nth);
    }

    /** SIGKILL at a point drawn from those that a dry run has seen, each time it was reached alike. */
    public static KillPoint drawn(RandomGenerator random, Census census) {
        int drawn = random.nextInt(census.total());
        for (var entry : census.counts().entrySet()) {
            if (drawn < entry.getValue()) {
                return at(entry.getKey(), drawn + 1);
            }
            drawn -= entry.getValue();
        }
        throw new AssertionError("the total is the sum of the counts");
    }

    /** SIGKILL when any point is reached, the nth in all. */
    public static KillPoint atAny(int nth) {
        return at(ANY, nth);
    }

    /** In the child: what the parent has set, or a point that is never reached. */
    public static Consumer<String> ofThisJvm() {
        String text = System.getProperty(PROPERTY);
        if (text == null) {
            return point -> {};
        }
        String[] parts = text.split(":", 3);
        return new KillPoint(Fate.valueOf(parts[0]), parts[2], Integer.parseInt(parts[1]));
    }

    @Override
    public void accept(String point) {
        if ((name.equals(ANY) || name.equals(point)) && reached.incrementAndGet() == nth) {
            switch (fate) {
                case KILL -> Signals.killSelf();
                case STALL -> Signals.stallSelf();
            }
        }
    }

    @Override
    public String toString() {
        return (fate == Fate.KILL ? "killed" : "stalled") + " at " + name + ", time " + nth;
    }

    String text() {
        return fate + ":" + nth + ":" + name;
    }

    /** A dry run: which points there are and how often each is reached. */
    public static final class Census implements Consumer<String> {

        private final Map<String, Integer> counts = new TreeMap<>();

        @Override
        public synchronized void accept(String point) {
            counts.merge(point, 1, Integer::sum);
        }

        public synchronized Map<String, Integer> counts() {
            return Collections.unmodifiableMap(new TreeMap<>(counts));
        }

        public synchronized int total() {
            return counts.values().stream().mapToInt(Integer::intValue).sum();
        }
    }
}
