package io.holdfast.sweep.rpc;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.NodeSettings;
import io.holdfast.sweep.node.PieceFate;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.Pieces;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pieces of a node that runs: over its port, beside its cycles. */
class PiecesIT {

    private static final List<PieceId> IDS = Fleet.ids(1, 40);

    @TempDir
    private Path folder;

    private Fleet fleet;
    private StorageNode node;
    private RpcServer server;
    private final Peers peers = new Peers(Optional.empty());
    private Pieces pieces;

    @BeforeEach
    void open() throws IOException {
        fleet = new Fleet(folder);
        node = fleet.add(fleet.builder("n1")
                .set(NodeSettings.BRAKE, 100)
                .set(NodeSettings.PIECE_MAX, 8L << 20)
                .open());
        server = RpcServer.start("127.0.0.1:0", new PieceService(node), Optional.empty(), Set.of());
        pieces = peers.pieces(node.id(), server.address());
    }

    @AfterEach
    void close() throws IOException {
        peers.close();
        server.close();
        fleet.close();
    }

    private static InputStream bytes(byte[] bytes) {
        return new ByteArrayInputStream(bytes);
    }

    @Test
    void piecesArePutReadListedRenewedAndDeleted() throws IOException {
        assertThat(pieces.idBytes()).isEqualTo(16);
        for (PieceId id : IDS) {
            assertThat(pieces.put(PHOTOS, id, bytes(Fleet.content(id)))).isEqualTo(PieceStore.Put.STORED);
        }
        PieceId first = IDS.getFirst();
        assertThat(pieces.put(PHOTOS, first, bytes(Fleet.content(first)))).isEqualTo(PieceStore.Put.ALREADY);
        try (InputStream in = pieces.get(PHOTOS, first).orElseThrow()) {
            assertThat(in.readAllBytes()).isEqualTo(Fleet.content(first));
        }
        assertThat(listed()).containsExactlyInAnyOrderElementsOf(IDS);
        assertThat(pieces.renew(PHOTOS, first)).isTrue();
        assertThat(pieces.delete(PHOTOS, first)).isTrue();
        assertThat(pieces.delete(PHOTOS, first)).isFalse();
        assertThat(pieces.renew(PHOTOS, first)).isFalse();
        assertThat(pieces.get(PHOTOS, first)).isEmpty();
        assertThat(pieces.why(first).facts()).isEmpty();
        assertThat(listed()).hasSize(39);
    }

    private List<PieceId> listed() throws IOException {
        List<PieceId> ids = new ArrayList<>();
        pieces.list(PHOTOS, new PieceStore.Visitor() {
            @Override
            public void piece(byte[] id) {
                ids.add(PieceId.of(id));
            }

            @Override
            public void unknown(String name) {
                throw new AssertionError(name);
            }
        });
        return ids;
    }

    @Test
    void largePieceAndEmptyPieceAndOneThatIsTooLarge() throws IOException {
        byte[] large = new byte[7_654_321];
        new Random(1).nextBytes(large);
        pieces.put(PHOTOS, IDS.get(0), bytes(large));
        pieces.put(PHOTOS, IDS.get(1), bytes(new byte[0]));
        try (InputStream in = pieces.get(PHOTOS, IDS.get(0)).orElseThrow()) {
            assertThat(in.readAllBytes()).isEqualTo(large);
        }
        try (InputStream in = pieces.get(PHOTOS, IDS.get(1)).orElseThrow()) {
            assertThat(in.readAllBytes()).isEmpty();
        }
        assertThatThrownBy(() -> pieces.put(PHOTOS, IDS.get(2), bytes(new byte[(8 << 20) + 1])))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("a piece of more than 8388608 bytes");
        assertThat(pieces.get(PHOTOS, IDS.get(2))).isEmpty();
        assertNothingIsLeftBehind();
    }

    /** The bytes cannot be read to their end where they come from. */
    @Test
    void putThatIsCutLeavesNothing() throws IOException {
        InputStream broken = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("the disk is broken");
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                throw new IOException("the disk is broken");
            }
        };
        InputStream cut = new SequenceInputStream(bytes(new byte[1 << 20]), broken);
        assertThatThrownBy(() -> pieces.put(PHOTOS, IDS.getFirst(), cut)).hasMessageContaining("the disk is broken");
        assertThat(pieces.get(PHOTOS, IDS.getFirst())).isEmpty();
    }

    private void assertNothingIsLeftBehind() throws IOException {
        try (var left = Files.newDirectoryStream(fleet.path("n1").resolve("state"), "incoming-*")) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void pieceInTheTrashSaysWhyAndComesBackWhenItIsRead() throws IOException {
        Fleet.put(node, PHOTOS, IDS);
        fleet.age();
        List<PieceId> live = IDS.subList(0, 30);
        fleet.examine(node, PHOTOS, 1, live);
        fleet.sweep(node, PHOTOS, 2, live);
        PieceId trashed = IDS.stream()
                .filter(id ->
                        pieces(id).facts().filter(facts -> !facts.isLive()).isPresent())
                .findFirst()
                .orElseThrow();
        PieceFate fate = pieces(trashed);
        assertThat(fate).isEqualTo(node.why(trashed));
        assertThat(fate.record().orElseThrow().evidence()).contains("cycle 2 of photos");
        try (InputStream in = pieces.get(PHOTOS, trashed).orElseThrow()) {
            assertThat(in.readAllBytes()).isEqualTo(Fleet.content(trashed));
        }
        assertThat(node.alarms(PHOTOS)).hasSize(1);
        assertThat(pieces(trashed).isRestored()).isTrue();
    }

    private PieceFate pieces(PieceId id) {
        try {
            return pieces.why(id);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void idOfAnotherLengthAndAnotherNodesNameAreRefused() {
        PieceId odd = PieceId.of(new byte[5]);
        assertThatThrownBy(() -> pieces.why(odd)).hasMessageContaining("a piece id of 5 bytes");
        assertThatThrownBy(() -> pieces.put(PHOTOS, odd, bytes(new byte[1])))
                .hasMessageContaining("a piece id of 5 bytes");
        assertThatThrownBy(
                        () -> peers.pieces(new NodeId("n2"), server.address()).idBytes())
                .hasMessageContaining("is node n1");
    }
}
