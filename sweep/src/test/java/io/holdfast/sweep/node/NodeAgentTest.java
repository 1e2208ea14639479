package io.holdfast.sweep.node;

import static io.holdfast.sweep.node.Fleet.PHOTOS;
import static io.holdfast.sweep.node.Fleet.VIDEOS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.testkit.Seeds;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node believes, and what it does not. */
class NodeAgentTest {

    private static final List<PieceId> LIVE = Fleet.ids(1, 60);
    private static final List<PieceId> GARBAGE = Fleet.ids(2, 6);
    private static final Instant NEVER = Instant.parse("2100-01-01T00:00:00Z");
    private static final SigningKey MANAGER = SigningKey.generate("manager-1");
    private static final SigningKey OPERATOR = SigningKey.generate("ann");

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private Fleet fleet;
    private StorageNode node;
    private NodeAgent agent;
    private KeyRing ring;

    @BeforeEach
    void open() throws IOException {
        fleet = new Fleet(folder);
        node = fleet.add(fleet.builder("n1").set(NodeSettings.BRAKE, 100).open());
        Fleet.put(node, PHOTOS, LIVE);
        Fleet.put(node, PHOTOS, GARBAGE);
        fleet.age();
        ring = KeyRing.of(List.of(
                KeyRing.entry(MANAGER, KeyRing.Role.MANAGER, Instant.EPOCH, NEVER),
                KeyRing.entry(OPERATOR, KeyRing.Role.OPERATOR, Instant.EPOCH, NEVER)));
        agent = new NodeAgent(node, ring, Runnable::run, fleet.time);
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private Manifest manifest(OwnerId owner, String to, long cycle, LiveFilter filter) {
        Instant now = fleet.time.instant();
        return new Manifest(
                owner,
                new NodeId(to),
                cycle,
                1,
                now,
                now.plus(Manifest.VALID_FOR),
                now,
                "db-1",
                LIVE.size(),
                LIVE.size(),
                Fingerprint.VERSION,
                LiveFilter.VERSION,
                filter.seed(),
                FilterFormat.digestText(filter),
                LIVE.stream().limit(20).map(PieceId::fingerprint).toList(),
                Built.AGREED,
                "manager-1");
    }

    private static ByteArrayInputStream bytes(LiveFilter filter) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        FilterFormat.write(filter, out);
        return new ByteArrayInputStream(out.toByteArray());
    }

    private NodeProgress retain(long cycle) throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, cycle);
        agent.retain(MANAGER.sign(manifest(PHOTOS, "n1", cycle, filter).encode()), bytes(filter));
        return agent.progress(PHOTOS, cycle);
    }

    private Signed order(SigningKey key, Order.Kind kind, NodeProgress of, long cycle, Duration validFor) {
        Instant now = fleet.time.instant();
        return key.sign(new Order(
                        kind,
                        PHOTOS,
                        node.id(),
                        cycle,
                        of.digest(),
                        of.wouldTrash(),
                        now,
                        now.plus(validFor),
                        "ann",
                        key.id())
                .encode());
    }

    private void refused(Signed signed, LiveFilter filter, String why) {
        assertThatThrownBy(() -> agent.retain(signed, bytes(filter)))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining(why);
        nothingHappened();
    }

    private void nothingHappened() {
        try {
            assertThat(Fleet.live(node, PHOTOS)).containsAll(LIVE).containsAll(GARBAGE);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aForgedManifestIsRefused() {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        byte[] text = manifest(PHOTOS, "n1", 1, filter).encode();
        Signed good = MANAGER.sign(text);
        byte[] flipped = good.signature().clone();
        flipped[7] ^= 1;
        refused(new Signed(text, flipped), filter, "the signature");
        byte[] other = manifest(PHOTOS, "n1", 2, filter).encode();
        refused(new Signed(other, good.signature()), filter, "the signature");
        refused(OPERATOR.sign(text), filter, "the signature");
        refused(SigningKey.generate("manager-1").sign(text), filter, "the signature");
    }

    @Test
    void whatIsForAnotherNodeIsRefused() {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        refused(MANAGER.sign(manifest(PHOTOS, "n2", 1, filter).encode()), filter, "for node n2");
    }

    @Test
    void aManifestOfAnotherOwnerTouchesOnlyThatOwner() throws IOException {
        Fleet.put(node, VIDEOS, LIVE.subList(0, 5));
        fleet.age();
        LiveFilter filter = Fleet.filter(LIVE, 1);
        agent.retain(MANAGER.sign(manifest(VIDEOS, "n1", 1, filter).encode()), bytes(filter));
        nothingHappened();
        assertThat(agent.progress(PHOTOS, 1).state()).isEqualTo(NodeProgress.State.UNKNOWN);
    }

    @Test
    void replayedAndOldManifestsAreRefused() throws IOException {
        LiveFilter filter = Fleet.filter(LIVE, 5);
        Signed first = MANAGER.sign(manifest(PHOTOS, "n1", 5, filter).encode());
        agent.retain(first, bytes(filter));
        retain(6);
        refused(first, filter, "not newer than the last");
        LiveFilter older = Fleet.filter(LIVE, 4);
        refused(MANAGER.sign(manifest(PHOTOS, "n1", 4, older).encode()), older, "not newer than the last");
    }

    @Test
    void theSameAgainIsNothingNewAndAnotherFilterOfTheCycleIsRefused() throws IOException {
        retain(1);
        retain(1);
        LiveFilter other = Fleet.filter(LIVE.subList(0, 30), 9);
        refused(MANAGER.sign(manifest(PHOTOS, "n1", 1, other).encode()), other, "another filter of cycle 1");
    }

    @Test
    void lateAndEarlyManifestsAreRefused() {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        Signed signed = MANAGER.sign(manifest(PHOTOS, "n1", 1, filter).encode());
        fleet.time.advance(Duration.ofDays(1));
        refused(signed, filter, "the clocks may differ by");
        fleet.time.setWall(fleet.time.instant().minus(Duration.ofDays(2)));
        refused(signed, filter, "the clocks may differ by");
    }

    @Test
    void aFilterThatIsNotTheSignedOneIsRefused() {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        LiveFilter less = Fleet.filter(LIVE.subList(30, 60), 1);
        refused(MANAGER.sign(manifest(PHOTOS, "n1", 1, filter).encode()), less, "does not match its digest");
        refused(MANAGER.sign(manifest(PHOTOS, "n1", 1, less).encode()), less, "witnesses");
    }

    @Test
    void damagedFiltersAndManifestsTrashNothing() {
        LiveFilter filter = Fleet.filter(LIVE, 1);
        Signed signed = MANAGER.sign(manifest(PHOTOS, "n1", 1, filter).encode());
        Seeds.of(300).run((seed, random) -> {
            byte[] damaged = bytes(filter).readAllBytes();
            byte[] text = signed.text().clone();
            if (random.nextBoolean()) {
                damaged[random.nextInt(damaged.length)] ^= (byte) (1 + random.nextInt(255));
            } else {
                text[random.nextInt(text.length)] ^= (byte) (1 + random.nextInt(255));
            }
            assertThatThrownBy(
                            () -> agent.retain(new Signed(text, signed.signature()), new ByteArrayInputStream(damaged)))
                    .isInstanceOf(HoldfastException.class);
        });
        nothingHappened();
    }

    @Test
    void ordersFitOneStateOfOneCycleOnce() throws IOException {
        retain(1);
        NodeProgress planned = retain(2);
        assertThat(planned.isReady()).isTrue();
        Signed release = order(MANAGER, Order.Kind.RELEASE, planned, 2, Duration.ofMinutes(5));
        assertThatThrownBy(() -> agent.carry(order(OPERATOR, Order.Kind.RELEASE, planned, 2, Duration.ofMinutes(5))))
                .hasMessageContaining("needs manager's");
        assertThatThrownBy(() -> agent.carry(order(MANAGER, Order.Kind.RELEASE, planned, 1, Duration.ofMinutes(5))))
                .hasMessageContaining("no plan of cycle 1");
        nothingHappened();
        agent.carry(release);
        assertThat(Fleet.live(node, PHOTOS)).containsAll(LIVE).doesNotContainAnyElementsOf(GARBAGE);
        assertThat(agent.carry(release).count()).isZero();
        agent.carry(order(OPERATOR, Order.Kind.RESTORE, planned, 2, Duration.ofMinutes(5)));
        nothingHappened();
        agent.carry(release);
        nothingHappened();
        fleet.time.advance(Duration.ofMinutes(6));
        assertThatThrownBy(() -> agent.carry(release)).hasMessageContaining("good from");
    }

    @Test
    void aPermitIsGoodForAnHourAtMost() throws IOException {
        retain(1);
        NodeProgress any = agent.progress(PHOTOS, 1);
        assertThatThrownBy(() -> agent.carry(order(MANAGER, Order.Kind.EMPTY, any, 0, Duration.ofHours(2))))
                .hasMessageContaining("an hour at most");
        assertThat(agent.carry(order(MANAGER, Order.Kind.EMPTY, any, 0, Duration.ofMinutes(50)))
                        .count())
                .isZero();
    }

    /** What the runbook of a stolen key says. */
    @Test
    void aReleasedCycleGoesOnAfterItsKeyWasRevokedUntilItIsRestored() throws IOException {
        retain(1);
        NodeProgress planned = retain(2);
        NodeAgent killed = new NodeAgent(node, ring, walk -> {}, fleet.time);
        killed.carry(order(MANAGER, Order.Kind.RELEASE, planned, 2, Duration.ofMinutes(5)));
        node.trash(PHOTOS, 2, Optional.empty(), StorageNode.Progress.NONE);
        assertThat(Fleet.live(node, PHOTOS)).doesNotContainAnyElementsOf(GARBAGE);
        KeyRing without = KeyRing.of(List.of(KeyRing.entry(OPERATOR, KeyRing.Role.OPERATOR, Instant.EPOCH, NEVER)));
        NodeAgent after = new NodeAgent(node, without, Runnable::run, fleet.time);
        assertThatThrownBy(() -> after.carry(order(MANAGER, Order.Kind.EMPTY, planned, 0, Duration.ofMinutes(5))))
                .hasMessageContaining("manager-1");
        after.carry(order(OPERATOR, Order.Kind.RESTORE, planned, 2, Duration.ofMinutes(5)));
        nothingHappened();
    }

    @Test
    void aRestartFinishesWhatWasReleasedAndKeepsWhatWaits() throws IOException {
        retain(1);
        NodeProgress planned = retain(2);
        node.close();
        StorageNode again =
                fleet.add(fleet.builder("n1").set(NodeSettings.BRAKE, 100).open());
        NodeAgent after = new NodeAgent(again, ring, Runnable::run, fleet.time);
        after.resume();
        assertThat(after.progress(PHOTOS, 2).state()).isEqualTo(NodeProgress.State.EXAMINED);
        after.carry(order(MANAGER, Order.Kind.RELEASE, planned, 2, Duration.ofMinutes(5)));
        assertThat(Fleet.live(again, PHOTOS)).containsAll(LIVE).doesNotContainAnyElementsOf(GARBAGE);
    }
}
