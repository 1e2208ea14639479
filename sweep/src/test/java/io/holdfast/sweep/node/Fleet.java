package io.holdfast.sweep.node;

import io.holdfast.ManualTime;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Manifest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/** Storage nodes on a stepped clock, with pieces whose content tells their id. */
public final class Fleet implements AutoCloseable {

    public static final OwnerId PHOTOS = new OwnerId("photos");
    public static final OwnerId VIDEOS = new OwnerId("videos");

    public final ManualTime time = new ManualTime();
    private final Path folder;
    private final List<StorageNode> nodes = new ArrayList<>();

    public Fleet(Path folder) {
        this.folder = folder;
    }

    public NodeBuilder builder(String name) {
        return StorageNode.at(folder.resolve(name), name)
                .time(time)
                .set(NodeSettings.ID_BYTES, 16)
                .sync(FilePieceStore.Sync.NONE);
    }

    /** A node whose disk is full whenever that is said: its books and filters cannot be written. */
    public static NodeBuilder onDiskThatFills(NodeBuilder builder, BooleanSupplier full) {
        return builder.watch(step -> {
            if (step == NodeStep.STATE_WRITTEN && full.getAsBoolean()) {
                throw new IOException("No space left on device");
            }
        });
    }

    public StorageNode node(String name) throws IOException {
        return add(builder(name).open());
    }

    public StorageNode add(StorageNode node) {
        nodes.add(node);
        return node;
    }

    public List<StorageNode> nodes() {
        return List.copyOf(nodes);
    }

    public Path path(String name) {
        return folder.resolve(name);
    }

    public static List<PieceId> ids(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        List<PieceId> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] id = new byte[16];
            random.nextBytes(id);
            ids.add(PieceId.of(id));
        }
        return ids;
    }

    public static void put(StorageNode node, OwnerId owner, Collection<PieceId> ids) throws IOException {
        for (PieceId id : ids) {
            put(node, owner, id);
        }
    }

    public static PieceStore.Put put(StorageNode node, OwnerId owner, PieceId id) throws IOException {
        return node.put(owner, id, new ByteArrayInputStream(content(id)));
    }

    /** What a piece holds: its id, many times over. */
    public static byte[] content(PieceId id) {
        byte[] bytes = new byte[1600];
        for (int i = 0; i < 100; i++) {
            System.arraycopy(id.bytes(), 0, bytes, 16 * i, 16);
        }
        return bytes;
    }

    /** Makes everything that is there now old enough to be judged. */
    public void age() {
        time.advance(Duration.ofDays(4));
    }

    public static Set<PieceId> live(StorageNode node, OwnerId owner) throws IOException {
        TreeSet<PieceId> ids = new TreeSet<>();
        node.list(owner, new PieceStore.Visitor() {
            @Override
            public void piece(byte[] id) {
                ids.add(PieceId.of(id));
            }

            @Override
            public void unknown(String name) {
                // counted by the walk
            }
        });
        return ids;
    }

    public static LiveFilter filter(Collection<PieceId> live, long seed) {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(live.size(), 0.01), seed);
        live.forEach(id -> filter.add(Fingerprint.of(id.bytes())));
        return filter;
    }

    /** A filter that hardly answers to anything by chance. */
    public static LiveFilter sharpFilter(Collection<PieceId> live, long seed) {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(live.size(), 0.0001), seed);
        live.forEach(id -> filter.add(Fingerprint.of(id.bytes())));
        return filter;
    }

    public Manifest manifest(NodeId node, OwnerId owner, long cycle, Collection<PieceId> live, LiveFilter filter) {
        return Manifest.of(
                owner, node, cycle, time.instant(), time.instant(), "db-1", live.size(), live.size(), filter);
    }

    /** Examines with a filter of these live pieces. */
    public NodeReport examine(StorageNode node, OwnerId owner, long cycle, Collection<PieceId> live)
            throws IOException {
        LiveFilter filter = filter(live, cycle * 31 + 7);
        return node.examine(manifest(node.id(), owner, cycle, live, filter), filter, StorageNode.Progress.NONE);
    }

    /** Examines, and trashes with an approval whatever the verdict. */
    public NodeReport sweep(StorageNode node, OwnerId owner, long cycle, Collection<PieceId> live) throws IOException {
        NodeReport examined = examine(node, owner, cycle, live);
        return node.trash(owner, cycle, Optional.of(Approval.of("test", examined)), StorageNode.Progress.NONE);
    }

    @Override
    public void close() throws IOException {
        for (StorageNode node : nodes) {
            node.close();
        }
    }
}
