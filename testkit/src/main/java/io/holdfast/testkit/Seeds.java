package io.holdfast.testkit;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Runs the body of a seeded test once per seed, with a generator that depends on the seed alone.
 *
 * <pre>
 *   (nothing)       seeds 1 to the test's own default
 *   -Dseeds=5000    seeds 1 to 5000
 *   -Dseeds=5001-10000   a range, so that a long run is split and added up
 *   -Dminutes=30    for half an hour, from a seed that no other run began with
 *   -Dseed=42       that one, to replay a failure
 * </pre>
 *
 * <p>The first failure ends the run; its message begins with the property that replays it.
 */
public final class Seeds {

    /** What is done with one seed. */
    @FunctionalInterface
    public interface Body {
        void run(long seed, RandomGenerator random) throws Exception;
    }

    private static final RandomGeneratorFactory<RandomGenerator> GENERATORS =
            RandomGeneratorFactory.of("L64X128MixRandom");

    private final long first;
    private final long count;
    private final @Nullable Duration time;
    private int threads = 1;
    private PrintStream report = System.err;

    private Seeds(long first, long count, @Nullable Duration time) {
        this.first = first;
        this.count = count;
        this.time = time;
    }

    /** @param count how many seeds are tried when nobody asks for more or fewer */
    public static Seeds of(int count) {
        return of(count, System.getProperties());
    }

    static Seeds of(int count, Properties properties) {
        String seed = properties.getProperty("seed", "");
        String minutes = properties.getProperty("minutes", "");
        String seeds = properties.getProperty("seeds", "");
        if (!seed.isBlank()) {
            return new Seeds(number("seed", seed), 1, null);
        }
        if (!minutes.isBlank()) {
            long begin = System.currentTimeMillis() * 1_000_000;
            return new Seeds(begin, Long.MAX_VALUE, Duration.ofMinutes(positive("minutes", minutes)));
        }
        int dash = seeds.indexOf('-', 1);
        if (dash > 0) {
            long first = positive("seeds", seeds.substring(0, dash));
            long last = positive("seeds", seeds.substring(dash + 1));
            if (last < first) {
                throw new IllegalArgumentException("-Dseeds=" + seeds + ": the first seed is above the last");
            }
            return new Seeds(first, last - first + 1, null);
        }
        return new Seeds(1, seeds.isBlank() ? count : positive("seeds", seeds), null);
    }

    /** A generator for one seed, for those who run their own loop. */
    public static RandomGenerator random(long seed) {
        return GENERATORS.create(seed);
    }

    /** Tries two seeds at a time; the body must share nothing between them. */
    public Seeds twoAtATime() {
        threads = 2;
        return this;
    }

    Seeds reportTo(PrintStream stream) {
        report = stream;
        return this;
    }

    /** Runs the body for each seed. */
    public void run(Body body) {
        long deadline = time == null ? Long.MAX_VALUE : System.nanoTime() + time.toNanos();
        var next = new AtomicLong();
        var failure = new AtomicReference<@Nullable AssertionError>();
        Runnable loop = () -> {
            long index;
            while (failure.get() == null
                    && (index = next.getAndIncrement()) < count
                    && (time == null || System.nanoTime() < deadline)) {
                one(first + index, body, failure);
            }
        };
        if (threads == 1 || count == 1) {
            loop.run();
        } else {
            inParallel(loop);
        }
        AssertionError failed = failure.get();
        if (failed != null) {
            throw failed;
        }
    }

    private void one(long seed, Body body, AtomicReference<@Nullable AssertionError> failure) {
        try {
            body.run(seed, random(seed));
        } catch (Throwable e) {
            var failed = new AssertionError("-Dseed=" + seed + " replays this: " + e, e);
            if (failure.compareAndSet(null, failed)) {
                report.println(failed.getMessage());
            }
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void inParallel(Runnable loop) {
        try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> loops = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                loops.add(executor.submit(loop));
            }
            for (Future<?> each : loops) {
                each.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("the loop itself failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private static long positive(String name, String value) {
        long number = number(name, value);
        if (number < 1) {
            throw new IllegalArgumentException("-D" + name + "=" + value + ": it must be at least 1");
        }
        return number;
    }

    private static long number(String name, String value) {
        try {
            return Long.parseLong(value.strip());
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("-D" + name + "=" + value + ": it must be a whole number", e);
        }
    }
}
