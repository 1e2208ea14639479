package io.holdfast.sweep.manager;

import com.dynatrace.hash4j.hashing.Hasher64;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.retain.Manifest;
import java.util.Arrays;
import java.util.List;

/**
 * The witnesses of one node: of all its live pieces those with the smallest hashes under a key that only the manager
 * knows. So they are a fair draw that no worker can foresee, repeats change nothing, and a second scan draws the same.
 * The largest of the small hashes also tells how many different pieces there are, about.
 */
final class WitnessSample {

    private static final int ROOM = Manifest.WITNESSES + Manifest.WITNESSES / 2;

    private final Hasher64 secret;
    private long[] hashes = new long[16];
    private long[] highs = new long[16];
    private long[] lows = new long[16];
    private int used;
    /** Hashes from here on, unsigned, are too large; -1 is the largest. */
    private long limit = -1;

    WitnessSample(Hasher64 secret) {
        this.secret = secret;
    }

    void add(long[] fingerprints, int to) {
        for (int i = 0; i < to; i += 2) {
            long hash = secret.hashLongLongToLong(fingerprints[i], fingerprints[i + 1]);
            if (Long.compareUnsigned(hash, limit) < 0) {
                keep(hash, fingerprints[i], fingerprints[i + 1]);
            }
        }
    }

    private void keep(long hash, long high, long low) {
        if (used == hashes.length) {
            if (used < ROOM) {
                int room = Math.min(ROOM, 2 * used);
                hashes = Arrays.copyOf(hashes, room);
                highs = Arrays.copyOf(highs, room);
                lows = Arrays.copyOf(lows, room);
            } else {
                prune();
            }
        }
        if (Long.compareUnsigned(hash, limit) < 0) {
            hashes[used] = hash;
            highs[used] = high;
            lows[used] = low;
            used++;
        }
    }

    /** Keeps the smallest, each once. In place: there may be thousands of samples, and what lives long is dear to replace. */
    private void prune() {
        long[] least = least();
        boolean[] have = new boolean[least.length];
        int kept = 0;
        for (int i = 0; i < used; i++) {
            int rank = Arrays.binarySearch(least, turned(hashes[i]));
            if (rank >= 0 && !have[rank]) {
                have[rank] = true;
                hashes[kept] = hashes[i];
                highs[kept] = highs[i];
                lows[kept] = lows[i];
                kept++;
            }
        }
        used = kept;
        if (kept == Manifest.WITNESSES) {
            limit = turned(least[kept - 1]);
        }
    }

    /** The smallest hashes in order, each once, turned. */
    private long[] least() {
        long[] order = new long[used];
        for (int i = 0; i < used; i++) {
            order[i] = turned(hashes[i]);
        }
        Arrays.sort(order);
        int kept = 0;
        for (int i = 0; i < order.length && kept < Manifest.WITNESSES; i++) {
            if (kept == 0 || order[kept - 1] != order[i]) {
                order[kept++] = order[i];
            }
        }
        return Arrays.copyOf(order, kept);
    }

    /** With the sign turned, the order of signed numbers is that of unsigned ones; turned twice, it is the number again. */
    private static long turned(long hash) {
        return hash ^ Long.MIN_VALUE;
    }

    /** In the order of their hashes. */
    List<Fingerprint> witnesses() {
        prune();
        long[] least = least();
        Fingerprint[] witnesses = new Fingerprint[least.length];
        for (int i = 0; i < used; i++) {
            witnesses[Arrays.binarySearch(least, turned(hashes[i]))] = new Fingerprint(highs[i], lows[i]);
        }
        return List.of(witnesses);
    }

    /** How many different pieces there are: exact for few, within some per cent for many. */
    long distinctAbout() {
        prune();
        if (used < Manifest.WITNESSES) {
            return used;
        }
        double share = (limit >>> 11) * 0x1.0p-53;
        return (long) ((Manifest.WITNESSES - 1) / share);
    }
}
