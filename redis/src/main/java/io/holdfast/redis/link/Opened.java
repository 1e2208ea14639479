package io.holdfast.redis.link;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What a client has started and not closed yet: closing the client closes it. */
public final class Opened {

    private final Set<AutoCloseable> open = new LinkedHashSet<>();

    public synchronized void add(AutoCloseable one) {
        open.add(one);
    }

    /** False if it was closed before. */
    public synchronized boolean remove(AutoCloseable one) {
        return open.remove(one);
    }

    /** Those that are still open, in the order in which they were started. */
    public synchronized List<AutoCloseable> all() {
        return List.copyOf(open);
    }
}
