package io.holdfast.sweep.cycle;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.Time;
import java.io.IOException;
import java.time.Duration;

/**
 * Renews the right to a cycle, three times as often as needed and independent of what the cycle is doing: opening a
 * snapshot or counting a table may take longer than the lease. Once the lease is lost it stays lost, and {@link
 * #requireHeld()} ends the cycle at its next step.
 */
public final class LeaseDuty implements Duty {

    /** Renews; LAPSED if another has the cycle by now. */
    @FunctionalInterface
    public interface Renewal {
        void renew() throws IOException;
    }

    private final Renewal renewal;
    private final Duration lease;
    private final Time time;
    private volatile long renewedNanos;
    private volatile String lost = "";

    public LeaseDuty(Renewal renewal, Duration lease, Time time) {
        this.renewal = renewal;
        this.lease = lease;
        this.time = time;
        this.renewedNanos = time.nanoTime();
    }

    @Override
    public String name() {
        return "sweep lease";
    }

    /** A failure other than LAPSED is tried again; if it stays, the lease runs out by the monotonic clock. */
    @Override
    public Step step() throws IOException {
        if (!lost.isEmpty()) {
            return Step.restFor(0, lease);
        }
        long began = time.nanoTime();
        try {
            renewal.renew();
            renewedNanos = began;
        } catch (HoldfastException e) {
            if (e.category() != Category.LAPSED) {
                throw e;
            }
            lost = "" + e.getMessage();
        }
        return Step.restFor(1, lease.dividedBy(3));
    }

    /** Throws LAPSED if the right to the cycle is lost, or was not renewed in time. */
    public void requireHeld() {
        String why = lost;
        if (why.isEmpty() && time.nanoTime() - renewedNanos > lease.toNanos()) {
            why = "the lease of the cycle was not renewed for " + Setting.text(lease);
            lost = why;
        }
        if (!why.isEmpty()) {
            throw new HoldfastException(
                    Category.LAPSED, why, "nothing more is signed in it; the next cycle does its work", null);
        }
    }
}
