package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
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
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.CRC32C;

/**
 * What a node must remember of one owner through any crash: the last cycle, what was trashed in the last 30 days, what
 * lies in the trash since when, which cycles were undone, which alarms stand. A small file, replaced whole before the
 * change that it announces. Books that cannot be read stop all trashing for the owner; they are never started afresh.
 */
final class OwnerBooks {

    private static final int VERSION = 1;
    private static final int ENTRIES_MAX = 100_000;
    static final Duration BRAKE_WINDOW = Duration.ofDays(30);

    /** A gap between two looks at the clock counts for no more than this, so that a clock set forward ages nothing. */
    static final Duration GAP_MOST = Duration.ofDays(1);

    static final int ALARMS_MAX = 1_000;

    /** One cycle as the brake sees it. */
    record Past(long cycle, Instant at, long pieces, long trashed, boolean approved) {}

    /** What a cycle put into the trash. */
    record InTrash(Instant since, Duration observed) {}

    /** A piece that was read though a cycle had trashed it. */
    record TrashHit(long cycle, PieceId id, Instant at) {}

    private final Path path;
    private final StateFiles files;

    long lastCycle;
    String incarnation = "";
    boolean examinedBefore;
    long knownLosses;
    Instant lastLook = Instant.EPOCH;
    final List<Past> history = new ArrayList<>();
    final TreeMap<Long, InTrash> trash = new TreeMap<>();
    final TreeSet<Long> voided = new TreeSet<>();
    final List<TrashHit> hits = new ArrayList<>();

    private OwnerBooks(Path path, StateFiles files) {
        this.path = path;
        this.files = files;
    }

    static OwnerBooks open(Path state, OwnerId owner, StateFiles files) throws IOException {
        Path folder = state.resolve(owner.folder());
        if (!Files.isDirectory(folder)) {
            Files.createDirectories(folder);
            files.syncFolder(state);
        }
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

    /** Advances the observed time of everything in the trash. */
    void look(Instant now) {
        Duration gap = Duration.between(lastLook, now);
        if (gap.isNegative() || lastLook.equals(Instant.EPOCH)) {
            gap = Duration.ZERO;
        }
        Duration counted = gap.compareTo(GAP_MOST) > 0 ? GAP_MOST : gap;
        trash.replaceAll(
                (cycle, entry) -> new InTrash(entry.since(), entry.observed().plus(counted)));
        lastLook = now;
        for (Iterator<Past> each = history.iterator(); each.hasNext(); ) {
            if (each.next().at().isBefore(now.minus(BRAKE_WINDOW))) {
                each.remove();
            }
        }
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
            out.writeLong(lastLook.toEpochMilli());
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
                out.writeLong(entry.getValue().observed().toMillis());
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
        }
        byte[] body = bytes.toByteArray();
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
            if (in.readInt() != VERSION) {
                throw new IOException("the version is not " + VERSION);
            }
            lastCycle = in.readLong();
            incarnation = in.readUTF();
            examinedBefore = in.readBoolean();
            knownLosses = in.readLong();
            lastLook = Instant.ofEpochMilli(in.readLong());
            for (int i = count(in); i > 0; i--) {
                history.add(new Past(
                        in.readLong(),
                        Instant.ofEpochMilli(in.readLong()),
                        in.readLong(),
                        in.readLong(),
                        in.readBoolean()));
            }
            for (int i = count(in); i > 0; i--) {
                trash.put(
                        in.readLong(),
                        new InTrash(Instant.ofEpochMilli(in.readLong()), Duration.ofMillis(in.readLong())));
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
        }
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
