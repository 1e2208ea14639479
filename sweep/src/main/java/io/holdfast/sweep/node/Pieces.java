package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/** The pieces of a storage node, for those who put and read them: of a node in this process, or of one that runs elsewhere. */
public interface Pieces {

    NodeId id();

    /** All ids have so many bytes. */
    int idBytes();

    PieceStore.Put put(OwnerId owner, PieceId piece, InputStream bytes) throws IOException;

    /** Reads a piece. One that a cycle trashed comes back, and an alarm is left behind. */
    Optional<InputStream> get(OwnerId owner, PieceId piece) throws IOException;

    /**
     * Renews the age of a piece that is to be used again, and brings it back if it is in the trash: what a writer calls
     * before it commits a row for a piece that is already here.
     *
     * @return false if the piece is not here, and must be put
     */
    boolean renew(OwnerId owner, PieceId piece) throws IOException;

    /** Removes a piece because its owner said so. */
    boolean delete(OwnerId owner, PieceId piece) throws IOException;

    /** Hands over the ids of all live pieces of an owner. */
    void list(OwnerId owner, PieceStore.Visitor visitor) throws IOException;

    /** What is known of a piece: where it is, and whether a cycle trashed it. */
    PieceFate why(PieceId piece) throws IOException;
}
