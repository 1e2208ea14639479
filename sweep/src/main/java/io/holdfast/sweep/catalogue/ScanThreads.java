package io.holdfast.sweep.catalogue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Threads that live as long as one call: all of a list is done, or the first failure ends it. */
public final class ScanThreads implements AutoCloseable {

    private final int count;
    private final @Nullable ExecutorService executor;

    private ScanThreads(int count, @Nullable ExecutorService executor) {
        this.count = count;
        this.executor = executor;
    }

    public static ScanThreads of(int count) {
        return new ScanThreads(
                count,
                Executors.newFixedThreadPool(
                        count,
                        Thread.ofPlatform().daemon().name("holdfast-sweep-", 1).factory()));
    }

    /** So many callers at once, of what waits for others more than it computes. */
    public static ScanThreads ofCallers(int count) {
        return new ScanThreads(
                count,
                Executors.newFixedThreadPool(
                        count, Thread.ofVirtual().name("holdfast-call-", 1).factory()));
    }

    /** No threads: everything is done by the caller, one after the other, as a test that steps wants it. */
    public static ScanThreads ofCaller() {
        return new ScanThreads(1, null);
    }

    public int count() {
        return count;
    }

    /** The results in the order of the tasks. Throws what the first task to fail threw, after all others have ended. */
    public <T> List<T> all(List<? extends Callable<T>> tasks) throws Exception {
        if (executor == null) {
            List<T> results = new ArrayList<>();
            for (Callable<T> task : tasks) {
                results.add(task.call());
            }
            return results;
        }
        CompletionService<T> completed = new ExecutorCompletionService<>(executor);
        List<Future<T>> futures = new ArrayList<>();
        for (Callable<T> task : tasks) {
            futures.add(completed.submit(task));
        }
        try {
            for (int i = 0; i < tasks.size(); i++) {
                completed.take().get();
            }
        } catch (ExecutionException e) {
            futures.forEach(future -> future.cancel(true));
            throw unwrapped(e);
        } catch (InterruptedException e) {
            futures.forEach(future -> future.cancel(true));
            throw e;
        }
        List<T> results = new ArrayList<>();
        for (Future<T> future : futures) {
            results.add(future.resultNow());
        }
        return results;
    }

    private static Exception unwrapped(ExecutionException e) {
        if (e.getCause() instanceof Exception cause) {
            return cause;
        }
        if (e.getCause() instanceof Error error) {
            throw error;
        }
        return e;
    }

    /** Waits for what still runs. */
    @Override
    public void close() {
        if (executor != null) {
            executor.shutdownNow();
            executor.close();
        }
    }
}
