package io.holdfast.sweep.manager;

import com.dynatrace.hash4j.hashing.Hasher64;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.retain.Manifest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The witnesses of one node: of all its live pieces those with the smallest hashes under a key that only the manager
 * knows. So they are a fair draw that no worker can foresee, repeats change nothing, and a second scan draws the same.
 * The largest of the small hashes also tells how many different pieces there are, about.
 */
final class WitnessSample {

    private static final int ROOM = Manifest.WITNESSES + Manifest.WITNESSES / 4;

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

    /** Keeps the smallest, each once. */
    private void prune() {
        Integer[] order = new Integer[used];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, Comparator.comparing(i -> hashes[i], Long::compareUnsigned));
        long[] newHashes = new long[hashes.length];
        long[] newHighs = new long[hashes.length];
        long[] newLows = new long[hashes.length];
        int kept = 0;
        for (int i = 0; i < order.length && kept < Manifest.WITNESSES; i++) {
            int at = order[i];
            if (kept == 0 || newHashes[kept - 1] != hashes[at]) {
                newHashes[kept] = hashes[at];
                newHighs[kept] = highs[at];
                newLows[kept] = lows[at];
                kept++;
            }
        }
        hashes = newHashes;
        highs = newHighs;
        lows = newLows;
        used = kept;
        if (kept == Manifest.WITNESSES) {
            limit = newHashes[kept - 1];
        }
    }

    List<Fingerprint> witnesses() {
        prune();
        List<Fingerprint> witnesses = new ArrayList<>();
        for (int i = 0; i < used; i++) {
            witnesses.add(new Fingerprint(highs[i], lows[i]));
        }
        return witnesses;
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
