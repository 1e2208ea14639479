package io.holdfast.app.serve;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One thing that the daemon tends. As a duty it brings itself up, looks after itself from time to time, and when that fails
 * says so and tries again: one part that cannot work does not keep the others from it.
 */
abstract class Part implements Duty, AutoCloseable {

    private static final Duration LOOK = Duration.ofSeconds(5);
    /** After a failure it tries again soon, as the client that it works with may just be connecting, then ever later. */
    private static final Duration SOON = Duration.ofMillis(50);

    private static final Duration AGAIN = Duration.ofSeconds(2);
    private static final Duration MISUSE_AGAIN = Duration.ofSeconds(30);

    private final String name;
    private volatile Optional<String> failure = Optional.of("not yet started");
    private volatile String detail = "";
    private boolean up;
    private Duration again = SOON;
    private volatile boolean closed;

    Part(String name) {
        this.name = name;
    }

    @Override
    public final String name() {
        return name;
    }

    /** Brings it up. May be called again after it has thrown. */
    abstract void start() throws Exception;

    /** Looks after it when it is up; answers how it is, for people, and throws if it is not well. */
    abstract String look() throws Exception;

    /** When it wants to be looked after again. */
    Duration pause() {
        return LOOK;
    }

    @Override
    public final Step step() {
        if (closed) {
            return Step.restFor(0, LOOK);
        }
        try {
            if (!up) {
                start();
                up = true;
            }
            detail = look();
            failure = Optional.empty();
            again = SOON;
            return Step.restFor(1, pause());
        } catch (HoldfastException e) {
            failure = Optional.of(e.getMessage() + "; " + e.action());
            return Step.restFor(0, e.category() == HoldfastException.Category.MISUSE ? MISUSE_AGAIN : nextTry());
        } catch (Exception e) {
            failure = Optional.of(e.toString());
            return Step.restFor(0, nextTry());
        }
    }

    private Duration nextTry() {
        Duration pause = again;
        Duration twice = pause.multipliedBy(2);
        again = twice.compareTo(AGAIN) > 0 ? AGAIN : twice;
        return pause;
    }

    /** Why it does not work; empty if it does. */
    final Optional<String> failure() {
        return failure;
    }

    final String detail() {
        return detail;
    }

    /** Stops it. What it holds it gives up. */
    @Override
    public final void close() {
        closed = true;
        stop();
    }

    abstract void stop();

    static void closeQuietly(@Nullable AutoCloseable it) {
        if (it != null) {
            try {
                it.close();
            } catch (Exception e) {
                System.getLogger(Part.class.getName()).log(System.Logger.Level.WARNING, "it could not be closed", e);
            }
        }
    }
}
