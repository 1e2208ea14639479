package io.holdfast.redis.session;

import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The application's callbacks, and where they run: never on a thread of ours, which they could block. */
final class SessionHandlers {

    private static final System.Logger LOG = System.getLogger(SessionHandlers.class.getName());

    final Executor executor;
    final @Nullable Consumer<SessionClaim> onClose;
    private final Consumer<SessionActivation> onActivate;
    private final Consumer<SessionLost> onLost;
    private final Consumer<SessionRegained> onRegained;
    private volatile Runnable onReleased = () -> {};

    SessionHandlers(
            Executor executor,
            @Nullable Consumer<SessionClaim> onClose,
            Consumer<SessionActivation> onActivate,
            Consumer<SessionLost> onLost,
            Consumer<SessionRegained> onRegained) {
        this.executor = executor;
        this.onClose = onClose;
        this.onActivate = onActivate;
        this.onLost = onLost;
        this.onRegained = onRegained;
    }

    /** In the caller's thread; what it throws is the caller's. */
    void activate(SessionActivation activation) {
        onActivate.accept(activation);
    }

    void lost(LocalSession session, SessionLost lost) {
        session.tell(() -> guarded("onLost", () -> onLost.accept(lost)), executor);
    }

    void regained(LocalSession session, SessionRegained regained) {
        session.tell(() -> guarded("onRegained", () -> onRegained.accept(regained)), executor);
    }

    void whenReleased(Runnable task) {
        onReleased = task;
    }

    void released() {
        onReleased.run();
    }

    private static void guarded(String name, Runnable callback) {
        try {
            callback.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "the " + name + " callback failed", e);
        }
    }
}
