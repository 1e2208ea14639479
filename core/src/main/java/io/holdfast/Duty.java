package io.holdfast;

import java.time.Duration;

/**
 * Background work, done in steps. A step does a bounded amount of work, returns soon, and says when it next wants to
 * run. A duty starts no thread and never sleeps: a {@link DutyRunner} does both for all of them, or a test calls
 * {@link #step()} by hand.
 */
public interface Duty {

    /** For logs and metrics: {@code graph:docs cascade}. */
    String name();

    /** Does one bounded piece of work. An exception is reported and the step is tried again after a pause. */
    Step step() throws Exception;

    /**
     * What a step did and when the next one is wanted.
     *
     * @param done how much was done, in the duty's own unit; zero if there was nothing to do
     * @param next how long to wait before the next step; zero means at once
     */
    record Step(long done, Duration next) {

        public Step {
            if (next.isNegative()) {
                next = Duration.ZERO;
            }
        }

        /** There is more to do. */
        public static Step again(long done) {
            return new Step(done, Duration.ZERO);
        }

        /** Nothing more to do for now. */
        public static Step restFor(long done, Duration pause) {
            return new Step(done, pause);
        }
    }
}
