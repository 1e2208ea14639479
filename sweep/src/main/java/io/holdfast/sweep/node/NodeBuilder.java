package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Ledger;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.sweep.piece.NodeId;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Opens a {@link StorageNode}. One process at a time has a node open. */
public final class NodeBuilder {

    private static final String MARKER = "holdfast-node";

    /** The settings of a node, read once. */
    record Config(
            Duration spareWindow,
            Duration trashKeep,
            int brakePercent,
            Duration clockSkew,
            int walkLimit,
            long filterBytesMax,
            long pieceBytesMax) {}

    private final Path root;
    private final NodeId id;
    private Settings settings = Settings.none();
    private Time time = Time.system();
    private FilePieceStore.Sync sync = FilePieceStore.Sync.DURABLE;
    private NodeStep.Watch watch = NodeStep.Watch.NONE;
    private @Nullable PieceStore store;
    private @Nullable Ledger ledger;

    NodeBuilder(Path root, NodeId id) {
        this.root = root.toAbsolutePath().normalize();
        this.id = id;
    }

    public NodeBuilder settings(Settings values) {
        settings = values;
        return this;
    }

    public <T> NodeBuilder set(Setting<T> setting, T value) {
        settings.set(setting, value);
        return this;
    }

    public NodeBuilder time(Time source) {
        time = source;
        return this;
    }

    /** When changes are made to reach the disk; default DURABLE. */
    public NodeBuilder sync(FilePieceStore.Sync policy) {
        sync = policy;
        return this;
    }

    /** Where trashed pieces are recorded; default: files in the node's own folder. */
    public NodeBuilder ledger(Ledger records) {
        ledger = records;
        return this;
    }

    /** Pieces that lie elsewhere, under the same rules; the node's folder then keeps only its books. */
    public NodeBuilder store(PieceStore pieces) {
        store = pieces;
        return this;
    }

    NodeBuilder watch(NodeStep.Watch steps) {
        watch = steps;
        return this;
    }

    public StorageNode open() throws IOException {
        Config config = new Config(
                settings.get(NodeSettings.SPARE_WINDOW),
                settings.get(NodeSettings.TRASH_KEEP),
                settings.get(NodeSettings.BRAKE),
                settings.get(NodeSettings.CLOCK_SKEW),
                settings.get(NodeSettings.WALK_LIMIT),
                settings.get(NodeSettings.FILTER_MAX),
                settings.get(NodeSettings.PIECE_MAX));
        make();
        FileLock lock = lock();
        try {
            boolean made = make();
            int idBytes = made ? mark() : readMarker();
            Path state = root.resolve("state");
            Files.createDirectories(state);
            Ballast ballast = new Ballast(state);
            ballast.keep();
            StateFiles files = new StateFiles(sync, watch, ballast);
            NodeClock clock = NodeClock.open(state, files, time, config.clockSkew());
            Ledger records = ledger == null
                    ? new FileLedger(root.resolve("ledger"), settings.get(NodeSettings.LEDGER_RECORDS))
                    : ledger;
            PieceStore pieces = store == null
                    ? new FilePieceStore(root, idBytes, settings.get(NodeSettings.PIECE_MAX), clock, files)
                    : store;
            return new StorageNode(id, state, pieces, config, records, lock, files, clock, time);
        } catch (IOException | RuntimeException e) {
            lock.acquiredBy().close();
            throw e;
        }
    }

    /** True if this is a new node. A folder that has other things in it is never taken over. */
    private boolean make() throws IOException {
        if (Files.isSymbolicLink(root)) {
            throw HoldfastException.misuse("the node's folder is a symbolic link", "name the folder itself");
        }
        Files.createDirectories(root);
        if (Files.exists(root.resolve(MARKER), LinkOption.NOFOLLOW_LINKS)) {
            readMarker();
            return false;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(root)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (!name.equals("lock") && !name.equals(MARKER + ".next")) {
                    throw HoldfastException.misuse(
                            "the folder is not empty and is no storage node: it has " + name,
                            "name a storage node, or an empty folder to make one");
                }
            }
        }
        return true;
    }

    private FileLock lock() throws IOException {
        FileChannel channel =
                FileChannel.open(root.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            lock = null;
        }
        if (lock == null) {
            channel.close();
            throw new HoldfastException(
                    Category.RETRY, "node " + id + " is open in another process", "stop that one first", null);
        }
        return lock;
    }

    private int mark() throws IOException {
        int idBytes = settings.get(NodeSettings.ID_BYTES);
        String text = "holdfast-node 1\nnode " + id + "\nid-bytes " + idBytes + "\n";
        new StateFiles(sync, watch)
                .replace(root.resolve(MARKER), out -> out.write(text.getBytes(StandardCharsets.US_ASCII)));
        return idBytes;
    }

    private int readMarker() throws IOException {
        List<String> lines = Files.readAllLines(root.resolve(MARKER));
        if (lines.size() != 3
                || !lines.get(0).equals("holdfast-node 1")
                || !lines.get(2).startsWith("id-bytes ")) {
            throw new HoldfastException(Category.CORRUPT, "the file " + MARKER + " is not what Holdfast wrote");
        }
        if (!lines.get(1).equals("node " + id)) {
            throw HoldfastException.misuse(
                    "the folder belongs to " + lines.get(1) + ", not to " + id, "open it by its own name");
        }
        return NodeSettings.ID_BYTES.parse(lines.get(2).substring("id-bytes ".length()));
    }

    /** The name of the node that a folder belongs to. */
    public static NodeId nameOf(Path root) throws IOException {
        Path marker = root.resolve(MARKER);
        if (!Files.exists(marker, LinkOption.NOFOLLOW_LINKS)) {
            throw HoldfastException.misuse(root + " is no storage node", "name the folder of a storage node");
        }
        List<String> lines = Files.readAllLines(marker);
        if (lines.size() != 3 || !lines.get(1).startsWith("node ")) {
            throw new HoldfastException(Category.CORRUPT, "the file " + MARKER + " is not what Holdfast wrote");
        }
        return new NodeId(lines.get(1).substring("node ".length()));
    }
}
