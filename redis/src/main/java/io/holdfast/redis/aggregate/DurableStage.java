package io.holdfast.redis.aggregate;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Completes when an update is durable, by {@link #durable} and {@link #refused} alone: what a caller could do to complete it for
 * others is not supported. It is one object where {@code minimalCompletionStage()} would be three, for each update.
 */
final class DurableStage extends CompletableFuture<@Nullable Void> {

    void durable() {
        super.complete(null);
    }

    void refused(Throwable why) {
        super.completeExceptionally(why);
    }

    private static UnsupportedOperationException notTheCallers() {
        return new UnsupportedOperationException("a caller cannot complete the stage of an update");
    }

    /** A copy, which its caller may complete or cancel. */
    @Override
    public CompletableFuture<@Nullable Void> toCompletableFuture() {
        return copy();
    }

    @Override
    public boolean complete(@Nullable Void value) {
        throw notTheCallers();
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
        throw notTheCallers();
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        throw notTheCallers();
    }

    @Override
    public void obtrudeValue(@Nullable Void value) {
        throw notTheCallers();
    }

    @Override
    public void obtrudeException(Throwable failure) {
        throw notTheCallers();
    }

    @Override
    public CompletableFuture<@Nullable Void> completeAsync(
            Supplier<? extends @Nullable Void> supplier, Executor executor) {
        throw notTheCallers();
    }

    @Override
    public CompletableFuture<@Nullable Void> completeAsync(Supplier<? extends @Nullable Void> supplier) {
        throw notTheCallers();
    }

    @Override
    public CompletableFuture<@Nullable Void> orTimeout(long timeout, TimeUnit unit) {
        throw notTheCallers();
    }

    @Override
    public CompletableFuture<@Nullable Void> completeOnTimeout(@Nullable Void value, long timeout, TimeUnit unit) {
        throw notTheCallers();
    }
}
