package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One addition, kept until it is durable. Guarded by the lock of its table, but for what its progress keeps. */
final class Update<T> {

    final T value;

    /** Where it stands in its ordered source; null without. */
    final SourceProgress.@Nullable Place place;

    /** The ordered source and the position there; null and -1 without. */
    final @Nullable SourceProgress progress;

    final long position;
    /** The digest of an update of an unordered source. */
    final byte @Nullable [] id;

    final long eventMillis;

    /** Completed outside of every lock. */
    final DurableStage stage = new DurableStage();

    /** The same message of an ordered source, delivered again while this one waits: what becomes of this becomes of them. */
    private List<Update<T>> echoes = List.of();

    static final long NO_EVENT_TIME = Long.MIN_VALUE;

    Update(T value, SourceProgress.@Nullable Place place, byte @Nullable [] id, long millis) {
        this.value = value;
        this.place = place;
        this.progress = place == null ? null : place.progress();
        this.position = place == null ? -1 : place.position;
        this.id = id;
        this.eventMillis = millis;
    }

    boolean isAt(SourceProgress source, long at) {
        return position == at && progress != null && progress.source().equals(source.source());
    }

    void echo(Update<T> again) {
        echoes = new ArrayList<>(echoes);
        echoes.add(again);
    }

    /** It waits for the store from now on. */
    void added(String key) {
        if (place != null) {
            place.progress().added(place, key);
        }
    }

    /** It could not be added. */
    void failed(String key) {
        if (place != null) {
            place.progress().failed(place, key);
        }
    }

    /** It is durable: tells its source. */
    void done() {
        if (progress != null) {
            progress.done(this);
        }
        echoes.forEach(Update::done);
    }

    /** It does not count: tells its source. */
    void refuse(String key) {
        if (progress != null) {
            progress.refuse(this, key);
        }
        echoes.forEach(echo -> echo.refuse(key));
    }

    /** An update that does not count and never will, and why. */
    record Refused<T>(String key, Update<T> update, io.holdfast.HoldfastException why) {}
}
