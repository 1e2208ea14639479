package io.holdfast.redis.session;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One client's part in serving a session. The session stays open at least until this is closed, unless this instance is
 * cut off from the store for longer than its lease; then {@link #isValid} says so.
 */
public final class SessionHold implements AutoCloseable {

    private final Serving serving;
    private final LocalSession session;
    private final AtomicBoolean closed = new AtomicBoolean();

    SessionHold(Serving serving, LocalSession session) {
        this.serving = serving;
        this.session = session;
    }

    public String id() {
        return session.id;
    }

    /** Which life of the session this is. It changes only if the session was lost and closed meanwhile. */
    public long epoch() {
        return session.epoch;
    }

    /** Whether nobody can have closed the session: checked on this instance's monotonic clock, without asking. */
    public boolean isValid() {
        return !closed.get() && serving.isValid(session);
    }

    /** Sets a data field; an empty value removes it. The data are there for every holder, and for the close. */
    public void put(String name, String value) {
        serving.put(session, Map.of(name, value));
    }

    /** Sets several data fields at once. */
    public void putAll(Map<String, String> fields) {
        serving.put(session, fields);
    }

    /** The data fields as they are now. */
    public Map<String, String> data() {
        return serving.data(session);
    }

    /** Gives this client's part up; the last one of the instance releases the session. Twice is once. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            serving.leave(session);
        }
    }

    @Override
    public String toString() {
        return "hold on session " + session.id + " epoch " + session.epoch;
    }
}
