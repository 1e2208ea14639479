package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Up to where everything of an ordered source is durable.
 *
 * <p>Each position that is not settled has a place in a list. A place is settled when all its updates are durable; one with a
 * refused update is settled by {@link #skip}, or when the update is added again and counts. Neighbours that are settled become
 * one place, so that an update that was refused long ago costs no memory for what came after it.
 *
 * <p>One object is one delivery of the source. {@link #rewound} begins the next one, which is told what was refused of the
 * earlier ones, also what is refused later: those updates are not known as counted when they are delivered again.
 */
final class SourceProgress {

    /** So many refused updates of one source may wait to be skipped or delivered again. */
    static final int REFUSED_MAX = 1_000;

    /** A position with what is not durable there. Guarded by its progress. */
    final class Place {
        final long position;
        private int waiting;
        /** Keys; made when there is one. */
        private Set<String> refused = Set.of();

        private @Nullable Place before;
        private @Nullable Place after;

        private Place(long position) {
            this.position = position;
        }

        SourceProgress progress() {
            return SourceProgress.this;
        }

        private boolean isSettled() {
            return waiting == 0 && refused.isEmpty();
        }
    }

    private final String source;
    /** The highest position of earlier deliveries. */
    private final long reachedBefore;
    /** What was refused of earlier deliveries: position and keys. */
    private final NavigableMap<Long, Set<String>> refusedBefore;

    private @Nullable SourceProgress successor;
    private @Nullable Place first;
    private @Nullable Place latest;
    private int refusedCount;
    private long last = -1;
    private long durable = -1;
    /** The position of the latest update that was refused or found no room: its message may be added again as a whole. */
    private long retried = -1;

    SourceProgress(String source) {
        this(source, -1, new TreeMap<>());
    }

    private SourceProgress(String source, long reachedBefore, NavigableMap<Long, Set<String>> refusedBefore) {
        this.source = source;
        this.reachedBefore = reachedBefore;
        this.refusedBefore = refusedBefore;
    }

    /** The progress of the next delivery. */
    synchronized SourceProgress rewound() {
        NavigableMap<Long, Set<String>> refused = new TreeMap<>();
        refusedBefore.forEach((position, keys) -> refused.put(position, new HashSet<>(keys)));
        SourceProgress next = new SourceProgress(source, Math.max(last, reachedBefore), refused);
        for (Place place = first; place != null; place = place.after) {
            for (String key : place.refused) {
                next.inherit(place.position, key);
            }
        }
        successor = next;
        return next;
    }

    private synchronized void inherit(long position, String key) {
        if (successor != null) {
            successor.inherit(position, key);
        } else {
            refusedBefore.computeIfAbsent(position, at -> new HashSet<>()).add(key);
        }
    }

    String source() {
        return source;
    }

    /**
     * Updates of this position are going to be added; it is not durable before {@link #complete}. A position that goes back
     * is refused.
     */
    synchronized Place begin(long position) {
        if (position < last) {
            throw HoldfastException.misuse(
                    "position " + position + " of source '" + source + "' after " + last,
                    "an ordered source never goes back: call rewind(source) when the bus delivers again, or use"
                            + " Position.id for a source without order");
        }
        if (refusedCount >= REFUSED_MAX && position > last) {
            throw new HoldfastException(
                    Category.FULL,
                    refusedCount + " updates of source '" + source + "' were refused and not skipped",
                    "call skip(position) for those that can never count, or rewind(source) and deliver them again",
                    null);
        }
        if (last < 0) {
            refusedBefore.headMap(position).clear(); // what lies before it was acknowledged, and does not come again
        }
        Place place = place(position);
        place.waiting++;
        return place;
    }

    /** All updates of the position are added. */
    synchronized void complete(Place place) {
        place.waiting--;
        settle(place);
    }

    synchronized void added(Place place, String key) {
        place.waiting++;
        forgive(place, key);
    }

    synchronized void done(Update<?> update) {
        Place place = update.place;
        if (place != null) {
            place.waiting--;
            settle(place);
        }
    }

    /** The update does not count and will not, unless it is added again. */
    synchronized void refuse(Update<?> update, String key) {
        Place place = update.place;
        if (place != null) {
            place.waiting--;
            refused(place, key);
        }
    }

    /** The update was not even added: {@link #durable} must not pass it before it was. */
    synchronized void failed(Place place, String key) {
        refused(place, key);
    }

    private void refused(Place place, String key) {
        if (successor != null) {
            successor.inherit(place.position, key);
        }
        retried = Math.max(retried, place.position);
        if (place.refused.isEmpty()) {
            place.refused = new HashSet<>();
        }
        if (place.refused.add(key)) {
            refusedCount++;
        }
    }

    /** Whether the message at this position is being added again after some of it was refused. */
    synchronized boolean isRetried(long position) {
        return retried == position;
    }

    /** Whether an update of the key at the position was refused, in this delivery or an earlier one, and not added again. */
    synchronized boolean isRefused(long position, String key) {
        if (!refusedBefore.isEmpty()
                && refusedBefore.getOrDefault(position, Set.of()).contains(key)) {
            return true;
        }
        for (Place place = latest; place != null && place.position >= position; place = place.before) {
            if (place.position == position) {
                return place.refused.contains(key);
            }
        }
        return false;
    }

    /** The positions up to a last one at which an update of the key was refused, in order. */
    synchronized List<Long> refusedUpTo(long to, String key) {
        if (refusedCount == 0 && refusedBefore.isEmpty()) {
            return List.of();
        }
        Set<Long> positions = new TreeSet<>();
        refusedBefore.headMap(to, true).forEach((position, keys) -> {
            if (keys.contains(key)) {
                positions.add(position);
            }
        });
        for (Place place = first; place != null && place.position <= to; place = place.after) {
            if (place.refused.contains(key)) {
                positions.add(place.position);
            }
        }
        return List.copyOf(positions);
    }

    /**
     * What was refused at the position is given up; a position without updates counts as durable. A position of an earlier
     * delivery that has not come again yet stays as it is: it comes again, after others that are not durable.
     */
    synchronized void skip(long position) {
        Place found = null;
        for (Place place = first; place != null && place.position <= position; place = place.after) {
            found = place.position == position ? place : found;
        }
        if (found == null && position > last && position > reachedBefore) {
            found = place(position);
        }
        if (found != null) {
            refusedBefore.remove(position);
            refusedCount -= found.refused.size();
            found.refused = Set.of();
            settle(found);
        }
    }

    synchronized OptionalLong durable() {
        return durable < 0 ? OptionalLong.empty() : OptionalLong.of(durable);
    }

    /** How many places it keeps. */
    synchronized int places() {
        int count = 0;
        for (Place place = first; place != null; place = place.after) {
            count++;
        }
        return count;
    }

    private void forgive(Place place, String key) {
        if (!refusedBefore.isEmpty()) {
            Set<String> before = refusedBefore.get(place.position);
            if (before != null && before.remove(key) && before.isEmpty()) {
                refusedBefore.remove(place.position);
            }
        }
        if (!place.refused.isEmpty() && place.refused.remove(key)) {
            refusedCount--;
        }
    }

    /** The place of a position that is not before the last one. */
    private Place place(long position) {
        if (latest != null && latest.position == position) {
            return latest;
        }
        Place place = new Place(position);
        place.before = latest;
        if (latest == null) {
            first = place;
        } else {
            latest.after = place;
        }
        latest = place;
        last = Math.max(last, position);
        return place;
    }

    private void settle(Place place) {
        if (!place.isSettled()) {
            return;
        }
        if (place.before != null && place.before.isSettled()) {
            unlink(place.before);
        }
        while (first != null && first.isSettled()) {
            durable = Math.max(durable, first.position);
            unlink(first);
        }
        Place next = place.after;
        if (place != first && place.before != null && next != null && next.isSettled()) {
            unlink(place);
        }
    }

    private void unlink(Place place) {
        Place before = place.before;
        Place after = place.after;
        if (before == null) {
            first = after;
        } else {
            before.after = after;
        }
        if (after == null) {
            latest = before;
        } else {
            after.before = before;
        }
        place.before = null;
        place.after = null;
    }
}
