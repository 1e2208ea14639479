package io.holdfast.sweep.node;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.Ledger;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A ledger in two files: records are appended to one, and when it has its fill it takes the place of the other. Between
 * once and twice the capacity is kept. A record is {@code u32 length, u32 CRC-32C, payload}; reading stops at the first
 * that is not whole, which after a crash is the end.
 */
final class FileLedger implements Ledger, Closeable {

    private static final int RECORD_MAX = 16 << 20;

    private final Path current;
    private final Path older;
    private final int capacity;
    private DataOutputStream out;
    private int records;

    FileLedger(Path folder, int capacity) throws IOException {
        Files.createDirectories(folder);
        this.current = folder.resolve("current");
        this.older = folder.resolve("older");
        this.capacity = capacity;
        this.out = Files.exists(current) ? reopened() : append();
    }

    private DataOutputStream append() throws IOException {
        return new DataOutputStream(new BufferedOutputStream(
                Files.newOutputStream(current, StandardOpenOption.CREATE, StandardOpenOption.APPEND), 1 << 16));
    }

    @Override
    public synchronized void append(Reclaimed reclaimed) {
        byte[] payload = encode(reclaimed);
        if (payload.length > RECORD_MAX) {
            throw HoldfastException.misuse("a record of " + payload.length + " bytes", "name fewer ids in one record");
        }
        try {
            if (records >= capacity) {
                out.close();
                Files.move(current, older, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                out = append();
                records = 0;
            }
            out.writeInt(payload.length);
            out.writeInt(checksum(payload));
            out.write(payload);
            records++;
        } catch (IOException e) {
            throw new UncheckedIOException("the ledger cannot be written", mended(e));
        }
    }

    /** A record that was cut off would hide all that follow it. */
    private IOException mended(IOException cause) {
        try {
            out.close();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
        try {
            out = reopened();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
        return cause;
    }

    /** The file cut after its last whole record. */
    private DataOutputStream reopened() throws IOException {
        long[] end = new long[1];
        records = read(current, (record, at) -> end[0] = at);
        try (var channel = Files.newByteChannel(current, StandardOpenOption.WRITE)) {
            channel.truncate(end[0]);
        }
        return append();
    }

    /** Hands over to the operating system what was appended. */
    synchronized void flush() throws IOException {
        try {
            out.flush();
        } catch (IOException e) {
            throw mended(e);
        }
    }

    @Override
    public synchronized Optional<Reclaimed> find(ThingId thing) {
        List<Reclaimed> found = new ArrayList<>(1);
        each(record -> {
            if (record.tellsOf(thing)) {
                found.clear();
                found.add(record);
            }
        });
        return found.stream().findFirst();
    }

    @Override
    public synchronized List<Reclaimed> since(Instant from, int limit) {
        List<Reclaimed> found = new ArrayList<>();
        each(record -> {
            if (found.size() < limit && !record.at().isBefore(from)) {
                found.add(record);
            }
        });
        return found;
    }

    private void each(java.util.function.Consumer<Reclaimed> consumer) {
        try {
            out.flush();
            for (Path path : List.of(older, current)) {
                if (Files.exists(path)) {
                    read(path, (record, at) -> consumer.accept(record));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the ledger cannot be read", e);
        }
    }

    private interface Taker {
        void take(Reclaimed record, long end);
    }

    private static int read(Path path, Taker taker) throws IOException {
        int count = 0;
        long at = 0;
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path), 1 << 16))) {
            while (true) {
                int length = in.readInt();
                int expected = in.readInt();
                if (length < 0 || length > RECORD_MAX) {
                    return count;
                }
                byte[] payload = in.readNBytes(length);
                if (payload.length < length || checksum(payload) != expected) {
                    return count;
                }
                at += 2L * Integer.BYTES + length;
                taker.take(decode(payload), at);
                count++;
            }
        } catch (EOFException e) {
            return count;
        }
    }

    private static byte[] encode(Reclaimed record) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(192);
        try (DataOutputStream data = new DataOutputStream(bytes)) {
            text(data, record.kind().name());
            text(data, record.reason().name());
            text(data, record.at().toString());
            data.writeLong(record.by().incarnation());
            text(data, record.by().instance());
            text(data, record.space());
            text(data, record.evidence());
            data.writeInt(record.ids().size());
            for (String id : record.ids()) {
                text(data, id);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static Reclaimed decode(byte[] payload) throws IOException {
        DataInputStream data = new DataInputStream(new ByteArrayInputStream(payload));
        ThingId.Kind kind = ThingId.Kind.valueOf(text(data));
        ReclaimReason reason = ReclaimReason.valueOf(text(data));
        Instant at = Instant.parse(text(data));
        long incarnation = data.readLong();
        HolderId by = new HolderId(text(data), incarnation);
        String space = text(data);
        String evidence = text(data);
        int count = data.readInt();
        List<String> ids = new ArrayList<>(Math.min(count, 1024));
        for (int i = 0; i < count; i++) {
            ids.add(text(data));
        }
        return new Reclaimed(kind, space, ids, reason, evidence, at, by);
    }

    private static void text(DataOutputStream data, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        data.writeInt(bytes.length);
        data.write(bytes);
    }

    private static String text(DataInputStream data) throws IOException {
        return new String(data.readNBytes(data.readInt()), StandardCharsets.UTF_8);
    }

    private static int checksum(byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload);
        return (int) crc.getValue();
    }

    @Override
    public synchronized void close() throws IOException {
        out.close();
    }
}
