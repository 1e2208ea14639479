package io.holdfast.app.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionRegained;
import io.holdfast.redis.session.Sessions;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.SharedRedis;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** What joins the parts keeps to the rules of both. */
class WiringIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    private static final NodeId N1 = new NodeId("n1");

    @TempDir
    Path folder;

    private Holdfast holdfast;
    private ValueGraph docs;

    @BeforeEach
    void open() {
        holdfast = Holdfast.connect(REDIS.uri().toString());
        docs = holdfast.graph("docs");
    }

    @AfterEach
    void close() {
        holdfast.close();
    }

    private static PieceId piece(int number) {
        byte[] id = new byte[32];
        id[0] = (byte) number;
        id[1] = (byte) (number >> 8);
        return PieceId.of(id);
    }

    private void putLeaves(int count) {
        try (GraphWriter writer = docs.writer()) {
            List<ValueId> leaves = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                leaves.add(writer.put(PieceLeaf.of(List.of(new PieceLeaf.Piece(N1, piece(i))))));
            }
            docs.root("main").set(writer.put(new byte[0], leaves));
        }
    }

    @Test
    void theViewOfAGraphStaysAsItWasWhateverBecomesOfTheGraph() throws Exception {
        putLeaves(300);
        try (Catalogue.Snapshot view = GraphCatalogue.of(docs).open()) {
            docs.root("main").drop();
            await().until(() -> docs.inspect().statistics().values() == 0);
            putLeaves(3);
            Set<PieceId> seen = new HashSet<>();
            for (int range = 0; range < view.ranges(); range++) {
                view.scan(range, (node, id, created) -> {
                    assertThat(node).isEqualTo(N1);
                    assertThat(created).isCloseTo(view.takenAt().toEpochMilli(), within(60_000L));
                    seen.add(PieceId.of(id));
                });
            }
            assertThat(seen).hasSize(300);
            assertThat(view.counts().orElseThrow()).containsOnlyKeys(N1).containsValue(300L);
            assertThat(view.contains(N1, piece(299).bytes())).isTrue();
            assertThat(view.contains(N1, piece(300).bytes())).isFalse();
            view.check();
        }
    }

    @Test
    void aLeafOfALaterVersionAbortsTheCycleAndNothingIsTrashed() throws Exception {
        try (GraphWriter writer = docs.writer();
                StorageNode node = StorageNode.at(folder.resolve("n1"), "n1").open()) {
            docs.root("main").set(writer.put("holdfast-pieces 2\nn1 00".getBytes(StandardCharsets.US_ASCII)));
            Sweep sweep = Sweep.of(GraphCatalogue.of(docs)).nodes(List.of(node));
            assertCategory(Category.CORRUPT, sweep::plan);
            assertThat(node.lastCycle(new OwnerId("docs"))).isZero();
        }
    }

    @Test
    void aReplacedStoreAbortsTheCycleAlsoAfterTheScan() throws Exception {
        putLeaves(3);
        try (Catalogue.Snapshot view = GraphCatalogue.of(docs).open()) {
            docs.destroy();
            holdfast.graph("docs");
            assertCategory(Category.LAPSED, view::check);
        }
    }

    @Test
    void leavesAreReadAsTheyWereWritten() throws Exception {
        List<PieceLeaf.Piece> pieces =
                List.of(new PieceLeaf.Piece(N1, piece(1)), new PieceLeaf.Piece(new NodeId("n2"), piece(2)));
        List<PieceLeaf.Piece> read = new ArrayList<>();
        ValueId id = ValueId.parse("0".repeat(32));
        PieceLeaf.names().in(id, PieceLeaf.of(pieces), (node, piece) -> read.add(new PieceLeaf.Piece(node, piece)));
        assertThat(read).isEqualTo(pieces);
        for (String broken : List.of("holdfast-pieces 1\nn1", "holdfast-pieces 1\nn1\n", "holdfast-pieces 1\nn1 0\n")) {
            assertCategory(
                    Category.CORRUPT,
                    () -> PieceLeaf.names().in(id, broken.getBytes(StandardCharsets.US_ASCII), (node, piece) -> {}));
        }
    }

    @Test
    void aSessionOwnsItsSnapshotUntilItIsClosed() {
        putLeaves(2);
        SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs");
        try (Sessions readers = holdfast.sessions("readers")
                .lease(Duration.ofSeconds(1))
                .grace(Duration.ZERO)
                .onClose(snapshots::release)
                .start()) {
            SessionHold hold = readers.acquire("a/b: c");
            ValueId target;
            try (Snapshot snapshot = snapshots.take(hold, "main")) {
                target = snapshot.target();
            }
            docs.root("main").drop();
            try (Snapshot again = snapshots.open(hold)) {
                assertThat(again.target()).isEqualTo(target);
                assertThat(again.children(target)).hasSize(2);
            }
            snapshots.step();
            assertThat(docs.find(target)).isPresent();
            hold.close();
            await().until(() -> docs.find(target).isEmpty());
            assertThat(docs.roots()).isEmpty();
            assertCategory(Category.LAPSED, () -> snapshots.take(hold, "main"));
        }
    }

    @Test
    void aSnapshotGoesWithItsSessionIntoAnotherLife() {
        putLeaves(1);
        SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs");
        docs.root("session:readers/17/ada").set(docs.root("main").target().orElseThrow());
        snapshots.moveOn(List.of(new SessionRegained("ada", 17, 17, false)));
        assertThat(docs.roots()).containsKey("session:readers/17/ada");
        snapshots.moveOn(List.of(new SessionRegained("ada", 17, 18, true)));
        assertThat(docs.roots()).containsOnlyKeys("main", "session:readers/18/ada");
        snapshots.moveOn(List.of(new SessionRegained("ada", 16, 19, true)));
        assertThat(docs.roots()).doesNotContainKey("session:readers/19/ada");
    }

    /** The incident: an instance stalls between acquiring and taking, and takes when the session is long closed. */
    @Test
    void whatAStalledInstanceTookForAClosedSessionIsDroppedInTheEnd() {
        putLeaves(1);
        ManualTime time = new ManualTime();
        SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs", time, SessionSnapshots.PATIENCE);
        try (Sessions readers =
                        holdfast.sessions("readers").onClose(snapshots::release).start();
                SessionHold hold = readers.acquire("eve");
                Snapshot snapshot = snapshots.take(hold, "main")) {
            docs.root("session:readers/17/ada").set(snapshot.target());
            assertThat(snapshots.step().done()).isZero();
            time.advance(SessionSnapshots.PATIENCE.minusSeconds(1));
            assertThat(snapshots.step().done()).isZero();
            time.advance(Duration.ofSeconds(1));
            assertThat(snapshots.step().done()).isEqualTo(1);
            assertThat(docs.roots()).containsOnlyKeys("main", "session:readers/" + hold.epoch() + "/eve");
        }
    }

    @Test
    void withoutASetOfSessionsThereIsNoEvidenceAndNothingIsDropped() {
        putLeaves(1);
        ManualTime time = new ManualTime();
        SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs", time, Duration.ZERO);
        docs.root("session:readers/17/ada").set(docs.root("main").target().orElseThrow());
        assertThat(snapshots.step().done()).isZero();
        try (Jedis jedis = REDIS.client()) {
            assertThat(jedis.exists("hf:{session:readers:0}:meta")).isFalse();
        }
        assertThat(docs.roots()).hasSize(2);
    }

    private static void assertCategory(Category category, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(category));
    }
}
