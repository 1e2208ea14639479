package io.holdfast.redis.graph.store;

import io.holdfast.Time;
import java.util.random.RandomGenerator;

/**
 * Names of segments: 44 bits of time, which never go back in one process, and 36 bits that are drawn. They do not come
 * from the server, so a server that went back in time gives none twice; and put.lua refuses a name that is taken.
 *
 * <p>Thread-safe.
 */
public final class SegmentNames {

    private static final char[] DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUV".toCharArray();
    private static final int RANDOM_BITS = 36;

    private final Time time;
    private final RandomGenerator random;
    private long lastMillis;
    private long lastDrawn;

    public SegmentNames(Time time, RandomGenerator random) {
        this.time = time;
        this.random = random;
    }

    /** The next name; it sorts after every one before. */
    public synchronized String next() {
        long millis = Math.max(time.instant().toEpochMilli(), lastMillis);
        long drawn = random.nextLong() >>> (Long.SIZE - RANDOM_BITS);
        if (millis == lastMillis && drawn <= lastDrawn) {
            millis++;
        }
        lastMillis = millis;
        lastDrawn = drawn;
        char[] name = new char[Place.SEGMENT_LENGTH];
        for (int i = Place.SEGMENT_LENGTH - 1; i >= 0; i--) {
            // 80 bits: the last 36 are drawn, the first 44 are time.
            int bit = 5 * (Place.SEGMENT_LENGTH - 1 - i);
            long low = bit < RANDOM_BITS ? drawn >>> bit : 0;
            int shift = RANDOM_BITS - bit;
            long high = shift > 0 ? millis << shift : millis >>> -shift;
            name[i] = DIGITS[(int) ((low | (shift < 5 ? high : 0)) & 31)];
        }
        return new String(name);
    }
}
