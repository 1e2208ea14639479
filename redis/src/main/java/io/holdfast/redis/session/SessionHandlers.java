package io.holdfast.redis.session;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The application's callbacks, and where they run: never on a thread of ours, which they could block.
 *
 * <p>{@code onLost}, {@code onRegained}, and {@code onActivate} of a session that was regained in a new life run one after the
 * other, in the order of what happened. Without an executor of the application they run on a platform thread: virtual threads
 * may starve when the application occupies their carriers, and a loss must be told in time.
 */
final class SessionHandlers {

    private static final System.Logger LOG = System.getLogger(SessionHandlers.class.getName());

    final Executor executor;
    final @Nullable Consumer<SessionClaim> onClose;
    private final Executor telling;
    private final Consumer<SessionActivation> onActivate;
    private final Consumer<List<SessionLost>> onLost;
    private final Consumer<List<SessionRegained>> onRegained;
    private volatile Runnable onReleased = () -> {};
    private CompletableFuture<?> told = CompletableFuture.completedFuture(null);

    /**
     * @param executor where onClose runs
     * @param telling where the others run
     */
    SessionHandlers(
            Executor executor,
            Executor telling,
            @Nullable Consumer<SessionClaim> onClose,
            Consumer<SessionActivation> onActivate,
            Consumer<List<SessionLost>> onLost,
            Consumer<List<SessionRegained>> onRegained) {
        this.executor = executor;
        this.telling = telling;
        this.onClose = onClose;
        this.onActivate = onActivate;
        this.onLost = onLost;
        this.onRegained = onRegained;
    }

    /** In the caller's thread; what it throws is the caller's. */
    void activate(SessionActivation activation) {
        onActivate.accept(activation);
    }

    void lost(List<SessionLost> lost) {
        if (!lost.isEmpty()) {
            tell("onLost", () -> onLost.accept(List.copyOf(lost)));
        }
    }

    void regained(List<SessionRegained> regained) {
        if (regained.isEmpty()) {
            return;
        }
        for (SessionRegained one : regained) {
            if (!one.unbroken()) {
                tell("onActivate", () -> onActivate.accept(new SessionActivation(one.id(), one.epoch(), one.opened())));
            }
        }
        tell("onRegained", () -> onRegained.accept(List.copyOf(regained)));
    }

    void whenReleased(Runnable task) {
        onReleased = task;
    }

    void released() {
        onReleased.run();
    }

    private synchronized void tell(String name, Runnable callback) {
        told = told.handleAsync(
                (nothing, failure) -> {
                    guarded(name, callback);
                    return nothing;
                },
                telling);
    }

    private static void guarded(String name, Runnable callback) {
        try {
            callback.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "the " + name + " callback failed", e);
        }
    }
}
