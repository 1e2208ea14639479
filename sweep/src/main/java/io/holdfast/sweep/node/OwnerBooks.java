package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Built;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;

/**
 * What a node must remember of one owner through any crash: the last cycle, what was trashed in the last 30 days, what
 * lies in the trash since when, which cycles were undone, which alarms stand. A small file, replaced whole before the
 * change that it announces. Books that cannot be read stop all trashing for the owner; they are never started afresh.
 */
final class OwnerBooks {

    private static final int VERSION = 2;
    private static final int BEFORE = 1;
    private static final int ENTRIES_MAX = 100_000;
    static final Duration BRAKE_WINDOW = Duration.ofDays(30);

    /** Deletes are counted by the hour, and forgotten after so many hours. */
    private static final int DELETE_HOURS_MOST = 24 * 90;

    static final int ALARMS_MAX = 1_000;

    /** One cycle as the brake sees it. */
    record Past(long cycle, Instant at, long pieces, long trashed, boolean approved) {}

    /** What a cycle put into the trash, the last of it at that time, and who answers for its filter. */
    record InTrash(Instant since, Built built) {}

    /** A piece that was read though a cycle had trashed it. */
    record TrashHit(long cycle, PieceId id, Instant at) {}

    private final Path path;
    private final StateFiles files;

    long lastCycle;
    String incarnation = "";
    boolean examinedBefore;
    long knownLosses;
    final List<Past> history = new ArrayList<>();
    final TreeMap<Long, InTrash> trash = new TreeMap<>();
    final TreeSet<Long> voided = new TreeSet<>();
    final List<TrashHit> hits = new ArrayList<>();
    /** What the owner deleted, by the hour: it may be in a filter, and rightly is not here. */
    final TreeMap<Long, Long> deletes = new TreeMap<>();

    /** One walk, restore or emptying of the owner at a time; others go on beside it. */
    final ReentrantLock retaining = new ReentrantLock();

    /** The cycle that is being restored now; a walk of it stops at the next piece. */
    volatile long voiding;

    private OwnerBooks(Path path, StateFiles files) {
        this.path = path;
        this.files = files;
    }

    static OwnerBooks open(Path state, OwnerId owner, StateFiles files) throws IOException {
        Path folder = state.resolve(owner.folder());
        OwnerBooks books = new OwnerBooks(folder.resolve("books"), files);
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(books.path);
        } catch (NoSuchFileException e) {
            return books;
        }
        try {
            books.read(bytes);
        } catch (IOException | RuntimeException e) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the books of owner " + owner + " cannot be read: " + e.getMessage(),
                    "nothing of this owner is trashed until state/" + owner.folder() + "/books is restored",
                    e);
        }
        return books;
    }

    static boolean exist(Path state, OwnerId owner) {
        return Files.exists(state.resolve(owner.folder()).resolve("books"));
    }

    /** Forgets what has left the window of the brake. */
    void look(Instant now) {
        history.removeIf(past -> past.at().isBefore(now.minus(BRAKE_WINDOW)));
    }

    void deleted(Instant now) {
        deletes.merge(now.getEpochSecond() / 3600, 1L, Long::sum);
        while (deletes.size() > DELETE_HOURS_MOST) {
            deletes.pollFirstEntry();
        }
    }

    long deletedSince(Instant from) {
        return deletes.tailMap(from.getEpochSecond() / 3600).values().stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    /** The most pieces that were here at once in the window. */
    long highWater(long now) {
        return Math.max(now, history.stream().mapToLong(Past::pieces).max().orElse(0));
    }

    /** What was trashed in the window without an operator's approval. */
    long trashedInWindow() {
        return history.stream()
                .filter(past -> !past.approved())
                .mapToLong(Past::trashed)
                .sum();
    }

    Optional<Past> past(long cycle) {
        return history.stream().filter(past -> past.cycle() == cycle).findFirst();
    }

    void note(Past past) {
        history.removeIf(earlier -> earlier.cycle() == past.cycle());
        history.add(past);
    }

    void write() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(VERSION);
            out.writeLong(lastCycle);
            out.writeUTF(incarnation);
            out.writeBoolean(examinedBefore);
            out.writeLong(knownLosses);
            out.writeInt(history.size());
            for (Past past : history) {
                out.writeLong(past.cycle());
                out.writeLong(past.at().toEpochMilli());
                out.writeLong(past.pieces());
                out.writeLong(past.trashed());
                out.writeBoolean(past.approved());
            }
            out.writeInt(trash.size());
            for (var entry : trash.entrySet()) {
                out.writeLong(entry.getKey());
                out.writeLong(entry.getValue().since().toEpochMilli());
                out.writeUTF(entry.getValue().built().by());
            }
            out.writeInt(voided.size());
            for (long cycle : voided) {
                out.writeLong(cycle);
            }
            out.writeInt(hits.size());
            for (TrashHit hit : hits) {
                out.writeLong(hit.cycle());
                out.writeLong(hit.at().toEpochMilli());
                out.writeByte(hit.id().length());
                out.write(hit.id().bytes());
            }
            out.writeInt(deletes.size());
            for (var hour : deletes.entrySet()) {
                out.writeLong(hour.getKey());
                out.writeLong(hour.getValue());
            }
        }
        byte[] body = bytes.toByteArray();
        Path folder = StateFiles.parent(path);
        if (!Files.isDirectory(folder)) {
            Files.createDirectories(folder);
            files.syncFolder(StateFiles.parent(folder));
        }
        files.replace(path, out -> {
            DataOutputStream data = new DataOutputStream(out);
            data.write(body);
            data.writeLong(checksum(body));
            data.flush();
        });
    }

    private void read(byte[] bytes) throws IOException {
        byte[] body = Arrays.copyOf(bytes, Math.max(0, bytes.length - Long.BYTES));
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            in.skipNBytes(body.length);
            if (in.readLong() != checksum(body)) {
                throw new IOException("the checksum does not match");
            }
        }
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(body))) {
            int version = in.readInt();
            if (version != VERSION && version != BEFORE) {
                throw new IOException("the version is " + version + ", known are " + BEFORE + " and " + VERSION);
            }
            boolean before = version == BEFORE;
            lastCycle = in.readLong();
            incarnation = in.readUTF();
            examinedBefore = in.readBoolean();
            knownLosses = in.readLong();
            if (before) {
                in.readLong();
            }
            for (int i = count(in); i > 0; i--) {
                history.add(new Past(
                        in.readLong(),
                        Instant.ofEpochMilli(in.readLong()),
                        in.readLong(),
                        in.readLong(),
                        in.readBoolean()));
            }
            for (int i = count(in); i > 0; i--) {
                long cycle = in.readLong();
                Instant since = Instant.ofEpochMilli(in.readLong());
                // Version 1 kept the time that was observed instead; who built its filters is not known.
                trash.put(cycle, new InTrash(since, before ? skipped(in) : new Built(in.readUTF())));
            }
            for (int i = count(in); i > 0; i--) {
                voided.add(in.readLong());
            }
            for (int i = count(in); i > 0; i--) {
                long cycle = in.readLong();
                Instant at = Instant.ofEpochMilli(in.readLong());
                byte[] id = in.readNBytes(Math.min(in.readUnsignedByte(), Fingerprint.ID_BYTES_MAX));
                hits.add(new TrashHit(cycle, PieceId.of(id), at));
            }
            for (int i = before ? 0 : count(in); i > 0; i--) {
                deletes.put(in.readLong(), in.readLong());
            }
        }
    }

    private static Built skipped(DataInputStream in) throws IOException {
        in.skipNBytes(Long.BYTES);
        return Built.BY_SOMEBODY;
    }

    private static int count(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > ENTRIES_MAX) {
            throw new IOException("a list of " + count + " entries");
        }
        return count;
    }

    private static long checksum(byte[] body) {
        CRC32C crc = new CRC32C();
        crc.update(body);
        return crc.getValue();
    }
}
