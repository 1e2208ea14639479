package io.holdfast.sweep;

import java.util.stream.LongStream;

/** Which seeds a seeded test tries: {@code -Dseeds=N} of them, or {@code -Dseed=S} alone to replay one. */
public final class Seeds {

    private Seeds() {}

    /** A test body. */
    public interface Body {
        void run() throws Exception;
    }

    public static long[] of(int byDefault) {
        String one = System.getProperty("seed", "");
        if (!one.isEmpty()) {
            return new long[] {Long.parseLong(one)};
        }
        String count = System.getProperty("seeds", "");
        return LongStream.range(0, count.isEmpty() ? byDefault : Long.parseLong(count))
                .toArray();
    }

    /** Says how to replay a failure. */
    public static void replayable(long seed, Body body) {
        try {
            body.run();
        } catch (Throwable e) {
            throw new AssertionError("replay with -Dseed=" + seed + ": " + e, e);
        }
    }
}
