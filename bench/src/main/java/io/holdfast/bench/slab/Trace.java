package io.holdfast.bench.slab;

import java.util.Iterator;
import java.util.LinkedHashMap;

/** Requests with sizes. A replay gets each key, and puts a value of its size on a miss. */
@SuppressWarnings("ArrayRecordComponent") // nobody compares traces
record Trace(String name, int[] keys, int[] sizes) {

    /** The part of requests that a cache of so many bytes hits; what is larger than all of it is not offered. */
    double replay(CachePeer cache, long bytes) {
        int hits = 0;
        for (int i = 0; i < keys.length; i++) {
            if (cache.get(keys[i]) != null) {
                hits++;
            } else if (sizes[i] < bytes) {
                cache.put(keys[i], new byte[sizes[i]]);
            }
        }
        return (double) hits / keys.length;
    }

    /** What a least-recently-used cache would hit that spends every byte on values, and none on anything else. */
    double byteLru(long bytes) {
        LinkedHashMap<Integer, Integer> held = new LinkedHashMap<>(16, 0.75f, true);
        long used = 0;
        int hits = 0;
        for (int i = 0; i < keys.length; i++) {
            if (held.get(keys[i]) != null) {
                hits++;
                continue;
            }
            if (sizes[i] > bytes) {
                continue;
            }
            held.put(keys[i], sizes[i]);
            used += sizes[i];
            Iterator<Integer> oldest = held.values().iterator();
            while (used > bytes) {
                used -= oldest.next();
                oldest.remove();
            }
        }
        return (double) hits / keys.length;
    }
}
