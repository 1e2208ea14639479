package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Sends bytes in chunks, no faster than the peer takes them, and waits for its answer. Whoever opens the call sets a deadline. */
final class Upload<Q, A> implements ClientResponseObserver<Q, A> {

    private static final int CHUNK_BYTES = 256 * 1024;

    private @Nullable ClientCallStreamObserver<Q> stream;
    private boolean over;
    private @Nullable Throwable failure;
    private @Nullable A answer;

    /** Writes the bytes. */
    @FunctionalInterface
    interface Source {
        void write(OutputStream out) throws IOException;
    }

    /** Sends the first message, then the bytes. */
    A send(String peer, Q first, Function<ByteString, Q> chunk, Source source) {
        IOException unread = null;
        try {
            send(first);
            try (OutputStream out = new BufferedOutputStream(chunks(chunk), CHUNK_BYTES)) {
                source.write(out);
            }
            complete();
        } catch (IOException e) {
            unread = e;
            cancel();
        }
        return await(peer, unread);
    }

    @Override
    public synchronized void beforeStart(ClientCallStreamObserver<Q> to) {
        stream = to;
        to.setOnReadyHandler(this::wake);
    }

    private synchronized void wake() {
        notifyAll();
    }

    private synchronized void send(Q message) throws IOException {
        ClientCallStreamObserver<Q> to = stream;
        try {
            while (!over && to != null && !to.isReady()) {
                wait(1000);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        if (over || to == null) {
            throw new IOException("the peer has ended the call");
        }
        to.onNext(message);
    }

    private OutputStream chunks(Function<ByteString, Q> chunk) {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                for (int at = offset; at < offset + length; at += CHUNK_BYTES) {
                    int part = Math.min(CHUNK_BYTES, offset + length - at);
                    send(chunk.apply(ByteString.copyFrom(bytes, at, part)));
                }
            }
        };
    }

    private synchronized void complete() {
        ClientCallStreamObserver<Q> to = stream;
        if (!over && to != null) {
            to.onCompleted();
        }
    }

    private synchronized void cancel() {
        ClientCallStreamObserver<Q> to = stream;
        if (!over && to != null) {
            to.cancel("the bytes could not be sent", null);
        }
    }

    @Override
    public synchronized void onNext(A response) {
        answer = response;
    }

    @Override
    public synchronized void onError(Throwable why) {
        over = true;
        failure = why;
        notifyAll();
    }

    @Override
    public synchronized void onCompleted() {
        over = true;
        notifyAll();
    }

    /** What the peer said counts; what could not be read here counts if it said nothing. */
    private synchronized A await(String peer, @Nullable IOException unread) {
        try {
            while (!over) {
                wait(1000);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HoldfastException(Category.RETRY, "interrupted", e);
        }
        Throwable why = failure;
        A said = answer;
        if (why == null && said != null) {
            return said;
        }
        if (why == null || (unread != null && Status.fromThrowable(why).getCode() == Status.Code.CANCELLED)) {
            String what = unread == null ? peer + " has answered nothing" : "nothing was sent: " + unread.getMessage();
            throw new HoldfastException(Category.RETRY, what, unread);
        }
        throw Failures.decode(peer, why);
    }
}
