package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.node.Incoming;
import io.holdfast.sweep.node.PieceFate;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.proto.AboutRequest;
import io.holdfast.sweep.proto.AboutResponse;
import io.holdfast.sweep.proto.Found;
import io.holdfast.sweep.proto.ListChunk;
import io.holdfast.sweep.proto.ListRequest;
import io.holdfast.sweep.proto.PieceChunk;
import io.holdfast.sweep.proto.PieceName;
import io.holdfast.sweep.proto.PutChunk;
import io.holdfast.sweep.proto.PutResponse;
import io.holdfast.sweep.proto.SweepPiecesGrpc;
import io.holdfast.sweep.proto.WhyResponse;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A storage node's port for those who put and read pieces. */
public final class PieceService extends SweepPiecesGrpc.SweepPiecesImplBase {

    private static final int CHUNK_BYTES = 256 * 1024;
    private static final int IDS_IN_A_CHUNK = 4096;

    private final StorageNode node;

    public PieceService(StorageNode node) {
        this.node = node;
    }

    private PieceId piece(PieceName name) {
        int length = name.getPieceId().size();
        if (length != node.idBytes()) {
            throw HoldfastException.misuse(
                    "a piece id of " + length + " bytes", "node " + node.id() + " keeps ids of " + node.idBytes());
        }
        return PieceId.wrap(name.getPieceId().toByteArray());
    }

    private static OwnerId owner(PieceName name) {
        return new OwnerId(name.getOwner());
    }

    @Override
    public void about(AboutRequest request, StreamObserver<AboutResponse> to) {
        Failures.answer(
                to,
                () -> AboutResponse.newBuilder()
                        .setNodeId(node.id().name())
                        .setIdBytes(node.idBytes())
                        .build());
    }

    @Override
    public StreamObserver<PutChunk> put(StreamObserver<PutResponse> to) {
        return new Receiver(to);
    }

    /** A piece is put when all of it is here: until then it waits in a file that goes with the call. */
    private final class Receiver implements StreamObserver<PutChunk> {
        private final StreamObserver<PutResponse> to;
        private @Nullable PieceName name;
        private @Nullable Incoming incoming;
        private boolean ended;

        Receiver(StreamObserver<PutResponse> to) {
            this.to = to;
        }

        @Override
        public void onNext(PutChunk chunk) {
            if (ended) {
                return;
            }
            try {
                Incoming into = incoming;
                if (into == null) {
                    name = chunk.getPiece();
                    var unused = piece(chunk.getPiece());
                    into = node.incoming();
                    incoming = into;
                }
                for (ByteBuffer part : chunk.getBytes().asReadOnlyByteBufferList()) {
                    into.add(part);
                }
            } catch (IOException | RuntimeException e) {
                end();
                to.onError(Failures.encode(e));
            }
        }

        @Override
        public void onError(Throwable failure) {
            end();
        }

        @Override
        public void onCompleted() {
            if (ended) {
                return;
            }
            Failures.answer(to, () -> {
                PieceName of = name;
                Incoming whole = incoming;
                if (of == null || whole == null) {
                    throw HoldfastException.misuse("a put without a piece", "send the piece's name first");
                }
                try (InputStream in = whole.read()) {
                    PieceStore.Put put = node.put(owner(of), piece(of), in);
                    return PutResponse.newBuilder()
                            .setOutcome(put.name().toLowerCase(Locale.ROOT))
                            .build();
                }
            });
            end();
        }

        private void end() {
            ended = true;
            Incoming left = incoming;
            if (left != null) {
                try {
                    left.close();
                } catch (IOException e) {
                    // It is a scratch file, and is removed at the next start.
                }
            }
        }
    }

    @Override
    public void get(PieceName name, StreamObserver<PieceChunk> to) {
        try {
            InputStream bytes = node.get(owner(name), piece(name))
                    .orElseThrow(() -> new HoldfastException(
                            Category.GONE, "node " + node.id() + " has no such piece", "put it", null));
            stream(to, bytes, () -> {
                byte[] part = bytes.readNBytes(CHUNK_BYTES);
                return part.length == 0
                        ? null
                        : PieceChunk.newBuilder()
                                .setBytes(ByteString.copyFrom(part))
                                .build();
            });
        } catch (IOException | RuntimeException e) {
            to.onError(Failures.encode(e));
        }
    }

    @Override
    public void renew(PieceName name, StreamObserver<Found> to) {
        Failures.answer(to, () -> found(node.renew(owner(name), piece(name))));
    }

    @Override
    public void delete(PieceName name, StreamObserver<Found> to) {
        Failures.answer(to, () -> found(node.delete(owner(name), piece(name))));
    }

    private static Found found(boolean here) {
        return Found.newBuilder().setFound(here).build();
    }

    /** A folder of the store at a time: what is put or deleted meanwhile may be in the list, or not. */
    @Override
    public void list(ListRequest request, StreamObserver<ListChunk> to) {
        try {
            OwnerId owner = new OwnerId(request.getOwner());
            ArrayDeque<ByteString> ids = new ArrayDeque<>();
            int[] folder = {0};
            stream(to, () -> {}, () -> {
                while (ids.isEmpty() && folder[0] < node.folders()) {
                    node.list(owner, folder[0]++, new PieceStore.Visitor() {
                        @Override
                        public void piece(byte[] id) {
                            ids.add(ByteString.copyFrom(id));
                        }

                        @Override
                        public void unknown(String name) {
                            // Not a piece.
                        }
                    });
                }
                ListChunk.Builder chunk = ListChunk.newBuilder();
                while (!ids.isEmpty() && chunk.getPieceIdsCount() < IDS_IN_A_CHUNK) {
                    chunk.addPieceIds(ids.remove());
                }
                return chunk.getPieceIdsCount() == 0 ? null : chunk.build();
            });
        } catch (RuntimeException e) {
            to.onError(Failures.encode(e));
        }
    }

    @Override
    public void why(PieceName name, StreamObserver<WhyResponse> to) {
        Failures.answer(to, () -> encode(node.why(piece(name))));
    }

    private static WhyResponse encode(PieceFate fate) {
        WhyResponse.Builder message = WhyResponse.newBuilder();
        fate.owner().ifPresent(owner -> message.setOwner(owner.name()));
        fate.facts()
                .ifPresent(facts -> message.setAgeMillis(facts.age().toEpochMilli())
                        .setBytes(facts.bytes())
                        .setTrashedBy(facts.trashedBy().orElse(0L))
                        .setSparedUntilMillis(fate.sparedUntil().toEpochMilli()));
        fate.record()
                .ifPresent(record -> message.setEvidence(Wire.words(record.evidence()))
                        .setRecordedMillis(record.at().toEpochMilli())
                        .setRecordedBy(record.by().toString()));
        return message.build();
    }

    /** The next message; null after the last. */
    @FunctionalInterface
    private interface Next<T> {
        @Nullable
        T get() throws IOException;
    }

    /** Answers with many messages, no faster than the caller takes them. */
    private static <T> void stream(StreamObserver<T> to, AutoCloseable source, Next<T> next) {
        ServerCallStreamObserver<T> call = (ServerCallStreamObserver<T>) to;
        boolean[] ended = {false};
        call.setOnCancelHandler(() -> close(source));
        call.setOnReadyHandler(() -> {
            try {
                while (!ended[0] && call.isReady()) {
                    T message = next.get();
                    if (message == null) {
                        ended[0] = true;
                        close(source);
                        call.onCompleted();
                    } else {
                        call.onNext(message);
                    }
                }
            } catch (IOException | RuntimeException e) {
                ended[0] = true;
                close(source);
                call.onError(Failures.encode(e));
            }
        });
    }

    private static void close(AutoCloseable source) {
        try {
            source.close();
        } catch (Exception e) {
            // It was only read.
        }
    }
}
