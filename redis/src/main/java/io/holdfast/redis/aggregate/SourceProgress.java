package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import java.util.ArrayDeque;

/** Up to where everything of an ordered source is durable. */
final class SourceProgress {

    private final String source;
    private final ArrayDeque<Update<?>> waiting = new ArrayDeque<>();
    private long last = -1;
    private long durable = -1;

    SourceProgress(String source) {
        this.source = source;
    }

    String source() {
        return source;
    }

    /** Refuses a position that goes back, before anything is added. */
    synchronized void check(long position) {
        if (position < last) {
            throw HoldfastException.misuse(
                    "position " + position + " of source '" + source + "' after " + last,
                    "an ordered source never goes back: call rewind(source) when the bus delivers again, or use"
                            + " Position.id for a source without order");
        }
    }

    synchronized void added(Update<?> update) {
        last = Math.max(last, update.position);
        waiting.add(update);
    }

    synchronized void done(Update<?> update) {
        update.durable = true;
        while (!waiting.isEmpty() && waiting.peek().durable) {
            long position = waiting.remove().position;
            Update<?> next = waiting.peek();
            if (next == null || next.position > position) {
                durable = position;
            }
        }
    }

    synchronized long durable() {
        return durable;
    }
}
