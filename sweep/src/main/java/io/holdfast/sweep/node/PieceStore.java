package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.Optional;
import java.util.SortedSet;

/**
 * Where the pieces of a node lie. The rules of a cycle ({@link StorageNode}) are above this line, so another store (an
 * object store, a database) comes under the same rules by implementing it.
 *
 * <p>What every implementation keeps to: put, restore and trash of the same piece exclude each other; each of them is
 * one atomic change that is there or not after a crash; a put or restore of a piece that exists or is in the trash makes
 * its renewed age durable before anything else.
 */
public interface PieceStore extends AutoCloseable {

    /** What became of a put. */
    enum Put {
        /** It was not here, and is now. */
        STORED,
        /** It was here; its age was renewed. */
        ALREADY,
        /** It was in the trash; its age was renewed and it is back. */
        RESTORED
    }

    /** What became of an attempt to trash a piece. */
    enum Trash {
        TRASHED,
        /** It is newer than what may be judged: it was put again since it was looked at. */
        YOUNG,
        /** It is no longer here. */
        GONE,
        /** What lies there is not a piece. */
        UNKNOWN_KIND
    }

    /** The outcome, and the size of what was moved. */
    record Trashed(Trash outcome, long bytes) {}

    /** Where a piece is, with what is known of it. */
    record Facts(Instant age, long bytes, Optional<Long> trashedBy) {
        public boolean isLive() {
            return trashedBy.isEmpty();
        }
    }

    /** Where a piece should lie, there is something that is not a piece. */
    final class UnknownKind extends IOException {
        private static final long serialVersionUID = 1;

        public UnknownKind(String what) {
            super(what);
        }
    }

    /** Takes what a folder holds. */
    interface Visitor {
        void piece(byte[] id) throws IOException;

        /** Something that is not a piece: another kind of file, a link, a name that no id has. */
        void unknown(String name) throws IOException;
    }

    /** All ids have so many bytes. */
    int idBytes();

    Put put(OwnerId owner, PieceId id, InputStream bytes) throws IOException;

    /**
     * Renews the age of a piece as a put would, without its bytes, and takes it out of the trash if it lies there.
     *
     * @return false if it is not here
     */
    boolean renew(OwnerId owner, PieceId id) throws IOException;

    /** The bytes of a piece that is not in the trash. */
    Optional<InputStream> get(OwnerId owner, PieceId id) throws IOException;

    /** Removes a piece because its owner said so; false if it was not here. */
    boolean delete(OwnerId owner, PieceId id) throws IOException;

    SortedSet<OwnerId> owners() throws IOException;

    /** The store is listed in so many folders, 0 to n - 1, each small enough for one step. */
    int folders();

    void list(OwnerId owner, int folder, Visitor visitor) throws IOException;

    /** A live piece, or else one in the trash. {@link UnknownKind} if it is none; other exceptions: age unknown. */
    Optional<Facts> look(OwnerId owner, PieceId id) throws IOException;

    /**
     * Moves a piece to the trash of a cycle if it is not newer than {@code notAfter}. Need not be durable when it
     * returns: a piece that a crash brings back is trashed by the next cycle.
     */
    Trashed trash(OwnerId owner, PieceId id, long cycle, Instant notAfter) throws IOException;

    /** Takes a piece out of the trash, its age renewed; false if it is not there or a live piece has its place. */
    boolean restore(OwnerId owner, PieceId id, long cycle) throws IOException;

    /** The cycles that have something in the trash. */
    SortedSet<Long> trashCycles(OwnerId owner) throws IOException;

    void listTrash(OwnerId owner, long cycle, int folder, Visitor visitor) throws IOException;

    /** Removes a piece from the trash for good. */
    boolean empty(OwnerId owner, PieceId id, long cycle) throws IOException;

    /** Forgets a cycle whose trash has nothing left. */
    void dropCycle(OwnerId owner, long cycle) throws IOException;

    @Override
    void close() throws IOException;
}
