package io.holdfast.sweep.rpc;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** A failure keeps its category, its line and what to do about it on the way from one process to the other. */
final class Failures {

    private static final System.Logger LOG = System.getLogger(Failures.class.getName());
    private static final Metadata.Key<String> CATEGORY =
            Metadata.Key.of("holdfast-category", Metadata.ASCII_STRING_MARSHALLER);
    private static final Metadata.Key<String> ACTION =
            Metadata.Key.of("holdfast-action", Metadata.ASCII_STRING_MARSHALLER);

    private Failures() {}

    /** Something to answer a call with. */
    @FunctionalInterface
    interface Answer<T> {
        T get() throws Exception;
    }

    /** Answers a call with one message, or with a failure. */
    static <T> void answer(StreamObserver<T> to, Answer<T> answer) {
        T message;
        try {
            message = answer.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            to.onError(encode(new HoldfastException(Category.RETRY, "interrupted", e)));
            return;
        } catch (Exception e) {
            to.onError(encode(e));
            return;
        }
        to.onNext(message);
        to.onCompleted();
    }

    static StatusRuntimeException encode(Throwable failure) {
        Category category = Category.RETRY;
        String action = "";
        String text = failure.toString();
        if (failure instanceof HoldfastException known) {
            category = known.category();
            action = known.action();
            text = "" + known.getMessage();
        } else {
            LOG.log(Level.WARNING, "a call failed", failure);
        }
        Metadata trailers = new Metadata();
        trailers.put(CATEGORY, category.name());
        trailers.put(ACTION, ascii(action));
        return status(category).withDescription(ascii(text)).asRuntimeException(trailers);
    }

    private static Status status(Category category) {
        return switch (category) {
            case RETRY -> Status.UNAVAILABLE;
            case LAPSED -> Status.ABORTED;
            case GONE -> Status.NOT_FOUND;
            case FULL -> Status.RESOURCE_EXHAUSTED;
            case MISUSE -> Status.INVALID_ARGUMENT;
            case CORRUPT -> Status.DATA_LOSS;
        };
    }

    /** Header values of gRPC are printable ASCII. */
    private static String ascii(@Nullable String text) {
        return Wire.words(text == null ? "" : text)
                .replaceAll("[^\\x20-\\x7e]", "?")
                .strip();
    }

    /** What a failed call to a peer means here. */
    static HoldfastException decode(String peer, Throwable failure) {
        if (failure instanceof HoldfastException known) {
            return known;
        }
        Status status = Status.fromThrowable(failure);
        Metadata trailers = Status.trailersFromThrowable(failure);
        String named = trailers == null ? null : trailers.get(CATEGORY);
        String action = trailers == null ? null : trailers.get(ACTION);
        String text =
                Wire.words(status.getDescription() == null ? status.getCode().name() : status.getDescription());
        if (named != null) {
            for (Category category : Category.values()) {
                if (category.name().equals(named)) {
                    return new HoldfastException(category, text, action == null ? "" : action, failure);
                }
            }
        }
        return switch (status.getCode()) {
            case RESOURCE_EXHAUSTED ->
                new HoldfastException(
                        Category.FULL, peer + " takes no such message: " + text, "send less at once", failure);
            case UNIMPLEMENTED, UNAUTHENTICATED, PERMISSION_DENIED, INVALID_ARGUMENT ->
                new HoldfastException(
                        Category.MISUSE,
                        peer + " refuses the call: " + text,
                        "check address, role and version",
                        failure);
            default ->
                new HoldfastException(
                        Category.RETRY,
                        peer + " cannot be reached: " + text,
                        "see that it runs, and try again",
                        failure);
        };
    }
}
