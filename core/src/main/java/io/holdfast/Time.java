package io.holdfast;

import java.time.Instant;
import java.time.InstantSource;

/**
 * Where time comes from: a wall clock for records, and a monotonic one for everything that waits or measures. Injected
 * everywhere, so that a test can step it ({@link ManualTime}).
 */
public interface Time extends InstantSource {

    /** Nanoseconds on a clock that never goes back; only differences mean anything. */
    long nanoTime();

    static Time system() {
        return SystemTime.INSTANCE;
    }

    /** The clocks of this JVM. */
    enum SystemTime implements Time {
        INSTANCE;

        @Override
        public Instant instant() {
            return Instant.now();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }
    }
}
