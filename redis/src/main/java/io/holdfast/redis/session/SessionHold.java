package io.holdfast.redis.session;

import java.lang.System.Logger.Level;
import java.lang.ref.Cleaner;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * One client's part in serving a session. The session stays open at least until this is closed, unless this instance is
 * cut off from the store for longer than its lease; then {@link #isValid} says so.
 *
 * <p>A hold that is dropped without {@link #close} would keep its session open for as long as the process lives: it is released
 * when the garbage collector finds it, and the log says where it was acquired. Do not rely on that: close it.
 */
public final class SessionHold implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(SessionHold.class.getName());
    private static final Cleaner CLEANER = Cleaner.create();
    private static final int FRAMES = 3;

    private final Part part;
    private final Cleaner.Cleanable cleanable;

    SessionHold(Serving serving, LocalSession session) {
        this.part = new Part(serving, session, acquiredAt());
        this.cleanable = CLEANER.register(this, part::dropped);
    }

    /** Where the application acquired it. */
    private static String acquiredAt() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> !frame.getClassName().startsWith("io.holdfast.redis.session."))
                        .limit(FRAMES)
                        .map(StackWalker.StackFrame::toString)
                        .collect(Collectors.joining(" < ")));
    }

    /** What is left when the hold is gone. */
    private record Part(Serving serving, LocalSession session, String acquiredAt, AtomicBoolean closed) {

        Part(Serving serving, LocalSession session, String acquiredAt) {
            this(serving, session, acquiredAt, new AtomicBoolean());
        }

        void close() {
            if (closed.compareAndSet(false, true)) {
                serving.leave(session);
            }
        }

        void dropped() {
            if (closed.compareAndSet(false, true)) {
                LOG.log(
                        Level.WARNING,
                        () -> "a hold on session '" + session.id
                                + "' was dropped without close(), and is released; it was" + " acquired at "
                                + acquiredAt);
                serving.leaveLater(session);
            }
        }
    }

    public String id() {
        return part.session.id;
    }

    /** Which life of the session this is. It changes only if the session was lost and closed meanwhile. */
    public long epoch() {
        return part.session.epoch;
    }

    /** Whether nobody can have closed the session: checked on this instance's monotonic clock, without asking. */
    public boolean isValid() {
        return !part.closed.get() && part.serving.isValid(part.session);
    }

    /** Sets a data field; an empty value removes it. The data are there for every holder, and for the close. */
    public void put(String name, String value) {
        part.serving.put(part.session, Map.of(name, value));
    }

    /** Sets several data fields at once. */
    public void putAll(Map<String, String> fields) {
        part.serving.put(part.session, fields);
    }

    /** The data fields as they are now. */
    public Map<String, String> data() {
        return part.serving.data(part.session);
    }

    /** Gives this client's part up; the last one of the instance releases the session. Idempotent. */
    @Override
    public void close() {
        part.close();
        cleanable.clean();
    }

    @Override
    public String toString() {
        return "hold on session " + part.session.id + " epoch " + part.session.epoch;
    }
}
