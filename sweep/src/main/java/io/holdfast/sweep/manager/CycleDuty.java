package io.holdfast.sweep.manager;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import java.time.Duration;

/**
 * Runs a cycle of a fleet whenever its interval has passed since the last one began. The log of cycles tells when that was,
 * so a manager that is started again does not begin at once, and of several managers that share a log one runs each cycle.
 *
 * <p>A step that finds a cycle due runs the whole of it, which may take hours: give the duty a runner with a thread to spare.
 */
public final class CycleDuty implements Duty {

    private static final Duration LOOK_EVERY = Duration.ofSeconds(30);
    private static final Duration LOOK_FOR_WORKERS = Duration.ofMillis(250);
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(30);

    /** Told how cycles end. */
    public interface Listener {

        /** @param emptied pieces that were deleted for good afterwards */
        void ended(CycleReport report, long emptied);

        /** It did not begin, or was aborted, or its trash could not be emptied. */
        void failed(HoldfastException why);
    }

    private final SweepManager manager;
    private final Duration interval;
    private final boolean empty;
    private final Listener listener;

    /** @param empty whether what has been in the trash long enough is deleted for good after each cycle */
    public CycleDuty(SweepManager manager, Duration interval, boolean empty, Listener listener) {
        this.manager = manager;
        this.interval = interval;
        this.empty = empty;
        this.listener = listener;
    }

    @Override
    public String name() {
        return "sweep cycle";
    }

    @Override
    public Step step() throws Exception {
        Duration due = manager.untilDue(interval);
        if (!due.isZero()) {
            return Step.restFor(0, due.compareTo(LOOK_EVERY) < 0 ? due : LOOK_EVERY);
        }
        if (!manager.hasWorkers()) {
            return Step.restFor(0, LOOK_FOR_WORKERS);
        }
        try {
            CycleReport report = manager.run();
            long emptied = 0;
            try {
                emptied = empty ? manager.empty().removed() : 0;
            } finally {
                listener.ended(report, emptied);
            }
            return Step.again(1);
        } catch (HoldfastException e) {
            listener.failed(e);
            return Step.restFor(0, interval.compareTo(AFTER_FAILURE) < 0 ? interval : AFTER_FAILURE);
        }
    }
}
