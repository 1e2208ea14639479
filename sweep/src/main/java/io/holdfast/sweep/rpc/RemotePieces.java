package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.sweep.node.PieceFate;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.Pieces;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.proto.AboutRequest;
import io.holdfast.sweep.proto.AboutResponse;
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
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The pieces of a storage node in another process that serves them. */
public final class RemotePieces implements Pieces {

    private static final int CALL_SECONDS = 10;
    /** A piece may be of gigabytes, and a list of millions. */
    private static final int TRANSFER_SECONDS = 3600;

    private final NodeId id;
    private final String peer;
    private final ManagedChannel channel;
    private int idBytes;

    RemotePieces(NodeId id, String address, ManagedChannel channel) {
        this.id = id;
        this.peer = "node " + id + " at " + address;
        this.channel = channel;
    }

    @Override
    public NodeId id() {
        return id;
    }

    private <T> T call(int seconds, Function<SweepPiecesGrpc.SweepPiecesBlockingStub, T> call) {
        try {
            return call.apply(SweepPiecesGrpc.newBlockingStub(channel).withDeadlineAfter(seconds, TimeUnit.SECONDS));
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() == Status.Code.UNIMPLEMENTED) {
                throw HoldfastException.misuse(peer + " serves no pieces", "start it with --pieces");
            }
            throw Failures.decode(peer, e);
        }
    }

    /** Also sees that it is this node. */
    @Override
    public synchronized int idBytes() {
        if (idBytes == 0) {
            AboutResponse about = call(CALL_SECONDS, stub -> stub.about(AboutRequest.getDefaultInstance()));
            if (!about.getNodeId().equals(id.name())) {
                throw HoldfastException.misuse(
                        peer + " is node " + Wire.words(about.getNodeId()), "correct the fleet file");
            }
            idBytes = about.getIdBytes();
        }
        return idBytes;
    }

    private static PieceName name(OwnerId owner, PieceId piece) {
        return PieceName.newBuilder()
                .setOwner(owner.name())
                .setPieceId(ByteString.copyFrom(piece.bytes()))
                .build();
    }

    @Override
    public PieceStore.Put put(OwnerId owner, PieceId piece, InputStream bytes) {
        Upload<PutChunk, PutResponse> upload = new Upload<>();
        SweepPiecesGrpc.newStub(channel)
                .withDeadlineAfter(TRANSFER_SECONDS, TimeUnit.SECONDS)
                .put(upload);
        PutResponse answer = upload.send(
                peer,
                PutChunk.newBuilder().setPiece(name(owner, piece)).build(),
                part -> PutChunk.newBuilder().setBytes(part).build(),
                bytes::transferTo);
        try {
            return PieceStore.Put.valueOf(answer.getOutcome().toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new HoldfastException(
                    Category.CORRUPT, peer + " answers nonsense: " + Wire.words(answer.getOutcome()), e);
        }
    }

    /** The stream fails if the rest of the piece does not come. */
    @Override
    public Optional<InputStream> get(OwnerId owner, PieceId piece) throws IOException {
        Context.CancellableContext call = Context.current().withCancellation();
        try {
            Iterator<PieceChunk> chunks = call.call(() -> SweepPiecesGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(TRANSFER_SECONDS, TimeUnit.SECONDS)
                    .get(name(owner, piece)));
            var unused = chunks.hasNext();
            return Optional.of(new ChunkStream(peer, chunks, call));
        } catch (Exception e) {
            call.cancel(e);
            HoldfastException why = Failures.decode(peer, e);
            if (why.category() == Category.GONE) {
                return Optional.empty();
            }
            throw why;
        }
    }

    /** The bytes of a piece as they come. */
    private static final class ChunkStream extends InputStream {
        private final String peer;
        private final Iterator<PieceChunk> chunks;
        private final Context.CancellableContext call;
        private ByteString left = ByteString.EMPTY;

        ChunkStream(String peer, Iterator<PieceChunk> chunks, Context.CancellableContext call) {
            this.peer = peer;
            this.chunks = chunks;
            this.call = call;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            try {
                while (left.isEmpty()) {
                    if (!chunks.hasNext()) {
                        return -1;
                    }
                    left = chunks.next().getBytes();
                }
            } catch (StatusRuntimeException e) {
                throw new IOException(Failures.decode(peer, e));
            }
            int count = Math.min(length, left.size());
            left.substring(0, count).copyTo(into, offset);
            left = left.substring(count);
            return count;
        }

        @Override
        public void close() {
            call.cancel(null);
        }
    }

    @Override
    public boolean renew(OwnerId owner, PieceId piece) {
        return call(CALL_SECONDS, stub -> stub.renew(name(owner, piece))).getFound();
    }

    @Override
    public boolean delete(OwnerId owner, PieceId piece) {
        return call(CALL_SECONDS, stub -> stub.delete(name(owner, piece))).getFound();
    }

    @Override
    public void list(OwnerId owner, PieceStore.Visitor visitor) throws IOException {
        ListRequest request = ListRequest.newBuilder().setOwner(owner.name()).build();
        Iterator<ListChunk> chunks = call(TRANSFER_SECONDS, stub -> stub.list(request));
        try {
            while (chunks.hasNext()) {
                for (ByteString piece : chunks.next().getPieceIdsList()) {
                    visitor.piece(piece.toByteArray());
                }
            }
        } catch (StatusRuntimeException e) {
            throw Failures.decode(peer, e);
        }
    }

    @Override
    public PieceFate why(PieceId piece) {
        PieceName name = PieceName.newBuilder()
                .setPieceId(ByteString.copyFrom(piece.bytes()))
                .build();
        WhyResponse told = call(CALL_SECONDS, stub -> stub.why(name));
        try {
            return decode(piece, told);
        } catch (RuntimeException e) {
            throw new HoldfastException(Category.CORRUPT, peer + " answers nonsense: " + e.getMessage(), e);
        }
    }

    private PieceFate decode(PieceId piece, WhyResponse told) {
        Optional<Reclaimed> record = told.getRecordedBy().isEmpty()
                ? Optional.empty()
                : Optional.of(new Reclaimed(
                        ThingId.Kind.PIECE,
                        id.name(),
                        List.of(piece.toString()),
                        ReclaimReason.SWEPT,
                        Wire.words(told.getEvidence()),
                        Instant.ofEpochMilli(told.getRecordedMillis()),
                        HolderId.parse(told.getRecordedBy())));
        if (told.getOwner().isEmpty()) {
            return new PieceFate(Optional.empty(), Optional.empty(), Instant.EPOCH, record);
        }
        PieceStore.Facts facts = new PieceStore.Facts(
                Instant.ofEpochMilli(told.getAgeMillis()),
                told.getBytes(),
                Optional.of(told.getTrashedBy()).filter(cycle -> cycle > 0));
        return new PieceFate(
                Optional.of(new OwnerId(told.getOwner())),
                Optional.of(facts),
                Instant.ofEpochMilli(told.getSparedUntilMillis()),
                record);
    }
}
