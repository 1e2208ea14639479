package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.piece.Base32;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;

/**
 * Pieces as files.
 *
 * <pre>
 *   ROOT/pieces/OWNER/ab/cdef…                 a live piece; its name is the id in base32, two letters as folder
 *   ROOT/trash/OWNER/0000000000000007/ab/cdef…  the same piece, trashed by cycle 7
 *   ROOT/temp/…                                puts under way; emptied at start
 *   ROOT/owners/OWNER                          the owner's name in clear
 * </pre>
 *
 * OWNER is a fingerprint in base32, and the rest of each path is base32 of bytes or a number: no text that a caller
 * chose ever becomes part of a path. The age is the file's modification time. One rename is the whole change from live
 * to trashed and back, so a crash leaves the piece at one place or at the other; that needs one file system, and others
 * are refused at start. Links are never followed.
 *
 * <p>Put, restore and trash of an id take the same of {@value #STRIPES} locks, in which the age is read again: a piece
 * that is put while a cycle is about to trash it is young by the time the cycle has the lock.
 */
public final class FilePieceStore implements PieceStore {

    static final int STRIPES = 1024;

    private static final int FOLDERS = 1024;
    private static final int COPY_BYTES = 16 * 1024;
    private static final Pattern CYCLE = Pattern.compile("[0-9a-f]{16}");

    /** When a change is made to reach the disk. */
    public enum Sync {
        /** A put or restore before it returns; trashing and emptying when the file system gets to it. */
        DURABLE,
        /** Left to the operating system: for throw-away stores. */
        NONE
    }

    private final Path root;
    private final int idBytes;
    private final long pieceMax;
    private final Time time;
    private final StateFiles files;
    private final NodeStep.Watch watch;
    private final ReentrantLock[] stripes = new ReentrantLock[STRIPES];
    private final ConcurrentHashMap<OwnerId, String> ownerFolders = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Path, Boolean> folders = new ConcurrentHashMap<>();

    FilePieceStore(Path root, int idBytes, long pieceMax, Time time, StateFiles files) throws IOException {
        this.root = root.toAbsolutePath().normalize();
        this.idBytes = idBytes;
        this.pieceMax = pieceMax;
        this.time = time;
        this.files = files;
        this.watch = files.watch();
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new ReentrantLock();
        }
        for (String part : List.of("pieces", "trash", "temp", "owners")) {
            folder(this.root.resolve(part));
        }
        refuseSeveralFileSystems();
        try (DirectoryStream<Path> left = Files.newDirectoryStream(this.root.resolve("temp"))) {
            for (Path path : left) {
                Files.delete(path);
            }
        }
    }

    private void refuseSeveralFileSystems() throws IOException {
        FileStore first = Files.getFileStore(root.resolve("pieces"));
        for (String part : List.of("trash", "temp")) {
            if (!Files.getFileStore(root.resolve(part)).equals(first)) {
                throw HoldfastException.misuse(
                        part + " is on another file system than pieces", "keep the whole node on one file system");
            }
        }
    }

    @Override
    public int idBytes() {
        return idBytes;
    }

    @Override
    public Put put(OwnerId owner, PieceId id, InputStream bytes) throws IOException {
        String name = name(id);
        watch.reached(NodeStep.PUT_BEGUN);
        Path temp = root.resolve("temp").resolve(UUID.randomUUID().toString());
        try {
            writeTemp(temp, bytes);
            ReentrantLock lock = lock(id);
            try {
                return place(owner, name, temp);
            } finally {
                lock.unlock();
            }
        } finally {
            Files.deleteIfExists(temp);
        }
    }

    private void writeTemp(Path temp, InputStream bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(temp, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            OutputStream out = Channels.newOutputStream(channel);
            copy(bytes, out);
            watch.reached(NodeStep.PUT_TEMP_WRITTEN);
            Files.setLastModifiedTime(temp, FileTime.from(time.instant()));
            if (files.sync() == Sync.DURABLE) {
                channel.force(true);
            }
        }
        watch.reached(NodeStep.PUT_TEMP_SYNCED);
    }

    private void copy(InputStream bytes, OutputStream out) throws IOException {
        byte[] chunk = new byte[COPY_BYTES];
        long copied = 0;
        for (int read = bytes.read(chunk); read >= 0; read = bytes.read(chunk)) {
            copied += read;
            if (copied > pieceMax) {
                throw HoldfastException.misuse(
                        "a piece of more than " + pieceMax + " bytes", "cut it up, or set sweep.node.piece-max higher");
            }
            out.write(chunk, 0, read);
        }
    }

    private Put place(OwnerId owner, String name, Path temp) throws IOException {
        Path live = live(owner, name);
        if (isPiece(live)) {
            renewAge(live);
            watch.reached(NodeStep.PUT_AGE_RENEWED);
            return Put.ALREADY;
        }
        Optional<Path> trashed = trashed(owner, name);
        if (trashed.isPresent()) {
            moveBack(trashed.get(), live);
            return Put.RESTORED;
        }
        register(owner);
        folder(StateFiles.parent(live));
        // Written some time ago, if the sender was slow; the age counts from now.
        renewAge(temp);
        Files.move(temp, live, StandardCopyOption.ATOMIC_MOVE);
        watch.reached(NodeStep.PUT_MOVED);
        files.syncFolder(StateFiles.parent(live));
        watch.reached(NodeStep.PUT_DONE);
        return Put.STORED;
    }

    @Override
    public boolean renew(OwnerId owner, PieceId id) throws IOException {
        String name = name(id);
        ReentrantLock lock = lock(id);
        try {
            Path live = live(owner, name);
            if (isPiece(live)) {
                renewAge(live);
                return true;
            }
            Optional<Path> trashed = trashed(owner, name);
            if (trashed.isPresent()) {
                moveBack(trashed.get(), live);
            }
            return trashed.isPresent();
        } finally {
            lock.unlock();
        }
    }

    private void moveBack(Path trashed, Path live) throws IOException {
        renewAge(trashed);
        watch.reached(NodeStep.RESTORE_AGE_RENEWED);
        folder(StateFiles.parent(live));
        Files.move(trashed, live, StandardCopyOption.ATOMIC_MOVE);
        watch.reached(NodeStep.RESTORE_MOVED);
        files.syncFolder(StateFiles.parent(live));
        files.syncFolder(StateFiles.parent(trashed));
    }

    @Override
    public Optional<InputStream> get(OwnerId owner, PieceId id) throws IOException {
        try {
            return Optional.of(
                    Files.newInputStream(live(owner, name(id)), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    @Override
    public boolean delete(OwnerId owner, PieceId id) throws IOException {
        Path live = live(owner, name(id));
        ReentrantLock lock = lock(id);
        try {
            boolean was = isPiece(live);
            if (was) {
                Files.delete(live);
                files.syncFolder(StateFiles.parent(live));
            }
            return was;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public SortedSet<OwnerId> owners() throws IOException {
        TreeSet<OwnerId> owners = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(root.resolve("owners"), "*[a-z2-7]")) {
            for (Path file : files) {
                OwnerId owner = new OwnerId(
                        Files.readString(file, StandardCharsets.US_ASCII).strip());
                if (!owner.folder().equals(file.getFileName().toString())) {
                    throw new HoldfastException(
                            Category.CORRUPT, "owners/" + file.getFileName() + " names another owner: " + owner);
                }
                owners.add(owner);
            }
        }
        return owners;
    }

    @Override
    public int folders() {
        return FOLDERS;
    }

    @Override
    public void list(OwnerId owner, int folder, Visitor visitor) throws IOException {
        String pair = Base32.pair(folder);
        if (folder == 0) {
            listStrangers(ownerPath("pieces", owner), visitor);
        }
        list(ownerPath("pieces", owner).resolve(pair), pair, visitor);
    }

    @Override
    public void listTrash(OwnerId owner, long cycle, int folder, Visitor visitor) throws IOException {
        String pair = Base32.pair(folder);
        list(cyclePath(owner, cycle).resolve(pair), pair, visitor);
    }

    private void list(Path folder, String pair, Visitor visitor) throws IOException {
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                || !Files.isDirectory(StateFiles.parent(folder), LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        // Names alone: three times as fast as a stream of paths, and what is live needs nothing else.
        String[] names = folder.toFile().list();
        if (names == null) {
            throw new IOException("cannot list " + pair);
        }
        for (String name : names) {
            byte[] id = Base32.decode(pair, name, idBytes);
            if (id == null) {
                visitor.unknown(pair + "/" + name);
            } else {
                visitor.piece(id);
            }
        }
    }

    /** What lies beside the two-letter folders, or has the place of one. */
    private static void listStrangers(Path owner, Visitor visitor) throws IOException {
        if (!Files.isDirectory(owner, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(owner)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (!name.matches("[a-z2-7]{2}") || !Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    visitor.unknown(name);
                }
            }
        }
    }

    @Override
    public Optional<Facts> look(OwnerId owner, PieceId id) throws IOException {
        String name = name(id);
        Optional<Facts> live = facts(live(owner, name), Optional.empty());
        if (live.isPresent()) {
            return live;
        }
        for (long cycle : trashCycles(owner)) {
            Optional<Facts> trashed = facts(inTrash(owner, cycle, name), Optional.of(cycle));
            if (trashed.isPresent()) {
                return trashed;
            }
        }
        return Optional.empty();
    }

    private static Optional<Facts> facts(Path path, Optional<Long> trashedBy) throws IOException {
        try {
            BasicFileAttributes attributes = attributes(path);
            if (!attributes.isRegularFile()) {
                throw new UnknownKind(path.getFileName() + " is not a regular file");
            }
            return Optional.of(new Facts(attributes.lastModifiedTime().toInstant(), attributes.size(), trashedBy));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    @Override
    public Trashed trash(OwnerId owner, PieceId id, long cycle, Instant notAfter) throws IOException {
        String name = name(id);
        Path live = live(owner, name);
        ReentrantLock lock = lock(id);
        try {
            watch.reached(NodeStep.TRASH_PIECE);
            BasicFileAttributes attributes = attributes(live);
            if (!attributes.isRegularFile()) {
                return new Trashed(Trash.UNKNOWN_KIND, 0);
            }
            if (attributes.lastModifiedTime().toInstant().isAfter(notAfter)) {
                return new Trashed(Trash.YOUNG, 0);
            }
            Path target = inTrash(owner, cycle, name);
            folder(StateFiles.parent(target), false);
            Files.move(live, target, StandardCopyOption.ATOMIC_MOVE);
            watch.reached(NodeStep.TRASH_MOVED);
            return new Trashed(Trash.TRASHED, attributes.size());
        } catch (NoSuchFileException e) {
            return new Trashed(Trash.GONE, 0);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean restore(OwnerId owner, PieceId id, long cycle) throws IOException {
        String name = name(id);
        Path live = live(owner, name);
        Path trashed = inTrash(owner, cycle, name);
        ReentrantLock lock = lock(id);
        try {
            if (Files.exists(live, LinkOption.NOFOLLOW_LINKS) || !isPiece(trashed)) {
                return false;
            }
            moveBack(trashed, live);
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public SortedSet<Long> trashCycles(OwnerId owner) throws IOException {
        TreeSet<Long> cycles = new TreeSet<>();
        Path trash = ownerPath("trash", owner);
        if (Files.isDirectory(trash, LinkOption.NOFOLLOW_LINKS)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(trash)) {
                for (Path entry : entries) {
                    String name = entry.getFileName().toString();
                    if (CYCLE.matcher(name).matches()) {
                        cycles.add(Long.parseUnsignedLong(name, 16));
                    }
                }
            }
        }
        return cycles;
    }

    @Override
    public boolean empty(OwnerId owner, PieceId id, long cycle) throws IOException {
        Path trashed = inTrash(owner, cycle, name(id));
        ReentrantLock lock = lock(id);
        try {
            watch.reached(NodeStep.EMPTY_PIECE);
            boolean was = isPiece(trashed);
            if (was) {
                Files.delete(trashed);
            }
            watch.reached(NodeStep.EMPTY_REMOVED);
            return was;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void dropCycle(OwnerId owner, long cycle) throws IOException {
        Path path = cyclePath(owner, cycle);
        List<Path> pairs = new ArrayList<>();
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
                entries.forEach(pairs::add);
            }
            for (Path pair : pairs) {
                folders.remove(pair);
                Files.delete(pair);
            }
            folders.remove(path);
            Files.delete(path);
            files.syncFolder(StateFiles.parent(path));
        }
    }

    @Override
    public void close() {}

    private Optional<Path> trashed(OwnerId owner, String name) throws IOException {
        for (long cycle : trashCycles(owner)) {
            Path path = inTrash(owner, cycle, name);
            if (isPiece(path)) {
                return Optional.of(path);
            }
        }
        return Optional.empty();
    }

    private void renewAge(Path path) throws IOException {
        Files.setLastModifiedTime(path, FileTime.from(time.instant()));
        files.syncFile(path);
    }

    private void register(OwnerId owner) throws IOException {
        Path path = root.resolve("owners").resolve(ownerFolder(owner));
        if (folders.containsKey(path)) {
            return;
        }
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            files.replace(path, out -> out.write(owner.name().getBytes(StandardCharsets.US_ASCII)));
        }
        folders.put(path, true);
    }

    /** Makes sure that a folder is there and is a folder, not a link to one; asks the disk once. */
    private void folder(Path path) throws IOException {
        folder(path, true);
    }

    /** A folder of the trash need not be durable: if a crash takes it back, it takes back what was moved into it. */
    private void folder(Path path, boolean durable) throws IOException {
        if (folders.containsKey(path)) {
            return;
        }
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            if (!path.equals(root)
                    && StateFiles.parent(path) != null
                    && !StateFiles.parent(path).equals(root)) {
                folder(StateFiles.parent(path), durable);
            }
            Files.createDirectories(path);
            if (durable) {
                files.syncFolder(StateFiles.parent(path));
            }
        }
        if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new HoldfastException(
                    Category.CORRUPT, root.relativize(path) + " is not a folder", "remove what has its place", null);
        }
        folders.put(path, true);
    }

    private static boolean isPiece(Path path) throws IOException {
        try {
            if (attributes(path).isRegularFile()) {
                return true;
            }
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the place of a piece is taken by something that is not a regular file",
                    "remove " + path.getFileName() + ", which Holdfast did not make",
                    null);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private static BasicFileAttributes attributes(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private String name(PieceId id) {
        if (id.length() != idBytes) {
            throw HoldfastException.misuse(
                    "a piece id of " + id.length() + " bytes", "this node keeps ids of " + idBytes + " bytes");
        }
        return id.toString();
    }

    private ReentrantLock lock(PieceId id) {
        ReentrantLock lock = stripes[id.hashCode() & (STRIPES - 1)];
        lock.lock();
        return lock;
    }

    private String ownerFolder(OwnerId owner) {
        return ownerFolders.computeIfAbsent(owner, OwnerId::folder);
    }

    private Path ownerPath(String part, OwnerId owner) {
        return root.resolve(part).resolve(ownerFolder(owner));
    }

    private Path live(OwnerId owner, String name) {
        return Path.of(root + "/pieces/" + ownerFolder(owner) + "/" + name.substring(0, 2) + "/" + name.substring(2));
    }

    private Path cyclePath(OwnerId owner, long cycle) {
        return ownerPath("trash", owner).resolve(HexFormat.of().toHexDigits(cycle));
    }

    private Path inTrash(OwnerId owner, long cycle, String name) {
        return Path.of(root + "/trash/" + ownerFolder(owner) + "/"
                + HexFormat.of().toHexDigits(cycle) + "/" + name.substring(0, 2) + "/" + name.substring(2));
    }
}
