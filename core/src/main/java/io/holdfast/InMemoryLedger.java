package io.holdfast;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/** The newest records in a ring. Looking one up walks it: fine for tests and tools, which is what it is for. */
final class InMemoryLedger implements Ledger {

    private final int capacity;
    private final ArrayDeque<Reclaimed> records = new ArrayDeque<>();

    InMemoryLedger(int capacity) {
        if (capacity < 1) {
            throw HoldfastException.misuse("ledger capacity " + capacity, "give a capacity of at least 1");
        }
        this.capacity = capacity;
    }

    @Override
    public synchronized void append(Reclaimed reclaimed) {
        if (records.size() == capacity) {
            records.removeFirst();
        }
        records.addLast(reclaimed);
    }

    @Override
    public synchronized Optional<Reclaimed> find(ThingId thing) {
        for (Iterator<Reclaimed> newestFirst = records.descendingIterator(); newestFirst.hasNext(); ) {
            Reclaimed record = newestFirst.next();
            if (record.tellsOf(thing)) {
                return Optional.of(record);
            }
        }
        return Optional.empty();
    }

    @Override
    public synchronized List<Reclaimed> since(Instant from, int limit) {
        List<Reclaimed> found = new ArrayList<>();
        for (Reclaimed record : records) {
            if (found.size() < limit && !record.at().isBefore(from)) {
                found.add(record);
            }
        }
        return found;
    }
}
