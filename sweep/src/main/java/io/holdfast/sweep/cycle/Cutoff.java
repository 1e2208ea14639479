package io.holdfast.sweep.cycle;

import java.time.Instant;

/**
 * Up to when a snapshot speaks: the smaller of the catalogue's clock before the snapshot and the newest creation time in it.
 * The second guards against a replica that lags behind its own clock. A row dated more than ten minutes after the snapshot
 * is no evidence of anything and does not count, or one such row would void that guard.
 *
 * <p>A catalogue to which nothing is added has no newer row, and pieces that came after its newest one would never be judged.
 * An operator who knows that it is no replica that lags may vouch for a later moment ({@link Vouch}).
 */
public final class Cutoff {

    private Cutoff() {}

    /**
     * @param newestMillis the newest creation time that counts; {@link Long#MIN_VALUE} if there is none, as in an empty
     *     catalogue, which vouches for no moment: nothing is old enough to be judged by it
     * @param vouched up to when an operator vouches for the catalogue; EPOCH if nobody does
     */
    public static Instant of(Instant takenAt, long newestMillis, Instant vouched) {
        Instant newest = newestMillis == Long.MIN_VALUE ? Instant.EPOCH : Instant.ofEpochMilli(newestMillis);
        Instant known = newest.isBefore(vouched) ? vouched : newest;
        return known.isBefore(takenAt) ? known : takenAt;
    }
}
