package io.holdfast.redis.graph.store;

import io.holdfast.Time;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;

/**
 * What every phase of a graph works with.
 *
 * @param unsent segments that a writer of this process has not put yet, and what puts them
 * @param wake tells the drainer that there is work
 */
public record GraphContext(
        String name,
        Store store,
        LeaseKeeper leases,
        SegmentNames names,
        Map<String, Runnable> unsent,
        Time time,
        RandomGenerator random,
        Runnable wake) {

    public GraphContext(
            String name,
            Store store,
            LeaseKeeper leases,
            SegmentNames names,
            Time time,
            RandomGenerator random,
            Runnable wake) {
        this(name, store, leases, names, new ConcurrentHashMap<>(), time, random, wake);
    }

    /** Puts the segment of a value if a writer of this process has it still. */
    public void send(Place place) {
        Runnable sending = unsent.get(place.segment());
        if (sending != null) {
            sending.run();
        }
    }
}
