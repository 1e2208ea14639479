package io.holdfast.slab;

import java.util.function.LongConsumer;

/** Runs a seeded test: so many seeds by default, {@code -Dseeds=} for more, {@code -Dseed=} to replay one. */
final class Seeds {

    private Seeds() {}

    static void run(int byDefault, LongConsumer test) {
        String one = System.getProperty("seed", "");
        if (!one.isEmpty()) {
            test.accept(Long.parseLong(one));
            return;
        }
        long first = System.nanoTime();
        long count = number("seeds", byDefault);
        for (long seed = first; seed < first + count; seed++) {
            try {
                test.accept(seed);
            } catch (Throwable t) {
                throw new AssertionError("seed " + seed + " (replay with -Dseed=" + seed + "): " + t.getMessage(), t);
            }
        }
    }

    static long number(String property, long byDefault) {
        String given = System.getProperty(property, "");
        return given.isEmpty() ? byDefault : Long.parseLong(given);
    }
}
