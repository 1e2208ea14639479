package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The form of a catalogue for large exports, little-endian.
 *
 * <pre>
 *    0  magic   "HFCB"
 *    4  u16     version, 1
 *    6  u16     bytes an id, 1 to 64
 *    8  i64     taken at, milliseconds of the epoch
 *   16  u32     length of the text
 *   20  text    owner, incarnation, then the nodes, one a line
 *    .  rows    u32 node (index), i64 creation time, id
 *    .  u64     rows
 *    .  32 B    SHA-256 over everything before
 * </pre>
 */
public final class BinaryFile {

    private static final int MAGIC = 'H' | 'F' << 8 | 'C' << 16 | 'B' << 24;
    private static final int HEAD_BYTES = 20;
    private static final int END_BYTES = 8 + 32;
    private static final int TEXT_MAX = 64 << 20;
    private static final int ROW_HEAD_BYTES = 12;
    private static final int ROWS_A_READ = 4096;

    private BinaryFile() {}

    /** Begins an export of ids of one length on the given nodes. */
    public static FileCatalogue.Writer write(Path path, FileCatalogue.Head head, int idBytes, List<NodeId> nodes)
            throws IOException {
        if (idBytes < 1 || idBytes > Fingerprint.ID_BYTES_MAX) {
            throw HoldfastException.misuse("ids of " + idBytes + " bytes", "use 1 to " + Fingerprint.ID_BYTES_MAX);
        }
        return new RecordWriter(path, head, idBytes, nodes);
    }

    private static final class RecordWriter implements FileCatalogue.Writer {
        private final DigestOutputStream out;
        private final Map<NodeId, Integer> indexes = new HashMap<>();
        private final ByteBuffer row;
        private long rows;
        private boolean closed;

        RecordWriter(Path path, FileCatalogue.Head head, int idBytes, List<NodeId> nodes) throws IOException {
            StringBuilder text = new StringBuilder();
            text.append(head.owner()).append('\n').append(head.incarnation());
            for (NodeId node : nodes) {
                indexes.put(node, indexes.size());
                text.append('\n').append(node);
            }
            byte[] bytes = text.toString().getBytes(StandardCharsets.US_ASCII);
            ByteBuffer start = ByteBuffer.allocate(HEAD_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            start.putInt(MAGIC).putShort((short) 1).putShort((short) idBytes);
            start.putLong(head.takenAt().toEpochMilli()).putInt(bytes.length);
            row = ByteBuffer.allocate(ROW_HEAD_BYTES + idBytes).order(ByteOrder.LITTLE_ENDIAN);
            out = FileCatalogue.digesting(new BufferedOutputStream(Files.newOutputStream(path), 1 << 16));
            out.write(start.array());
            out.write(bytes);
        }

        @Override
        public void piece(NodeId node, byte[] id, long createdMillis) throws IOException {
            Integer index = indexes.get(node);
            if (index == null || id.length != row.capacity() - ROW_HEAD_BYTES) {
                throw HoldfastException.misuse(
                        "a piece of " + id.length + " bytes on " + node,
                        "name every node at the start; ids have " + (row.capacity() - ROW_HEAD_BYTES) + " bytes here");
            }
            row.clear();
            row.putInt(index).putLong(createdMillis).put(id);
            out.write(row.array());
            rows++;
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                closed = true;
                out.write(ByteBuffer.allocate(8)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(rows)
                        .array());
                out.write(out.getMessageDigest().digest());
                out.close();
            }
        }
    }

    static boolean isMagic(byte[] first) {
        return ByteBuffer.wrap(first).order(ByteOrder.LITTLE_ENDIAN).getInt() == MAGIC;
    }

    static FileCatalogue.Format open(FileChannel channel, long length) throws IOException {
        if (length < HEAD_BYTES + END_BYTES) {
            throw FileCatalogue.corrupt("it is too short");
        }
        ByteBuffer head = read(channel, 0, HEAD_BYTES);
        int magic = head.getInt();
        int version = Short.toUnsignedInt(head.getShort());
        int idBytes = Short.toUnsignedInt(head.getShort());
        Instant takenAt = Instant.ofEpochMilli(head.getLong());
        int textBytes = head.getInt();
        if (magic != MAGIC || version != 1 || idBytes < 1 || idBytes > Fingerprint.ID_BYTES_MAX) {
            throw FileCatalogue.corrupt("it does not begin as version 1 with ids of 1 to 64 bytes");
        }
        if (textBytes < 0 || textBytes > Math.min(TEXT_MAX, length - HEAD_BYTES - END_BYTES)) {
            throw FileCatalogue.corrupt("its head has an impossible length");
        }
        ByteBuffer end = read(channel, length - END_BYTES, END_BYTES);
        long rows = end.getLong();
        byte[] expected = new byte[32];
        end.get(expected);
        if (!MessageDigest.isEqual(expected, FileCatalogue.digest(channel, length - 32))) {
            throw FileCatalogue.corrupt("its content does not match its digest");
        }
        long body = length - HEAD_BYTES - textBytes - END_BYTES;
        int width = ROW_HEAD_BYTES + idBytes;
        if (body % width != 0 || body / width != rows) {
            throw FileCatalogue.corrupt("it says " + rows + " rows and has room for " + body / width);
        }
        String text = StandardCharsets.US_ASCII
                .decode(read(channel, HEAD_BYTES, textBytes))
                .toString();
        return records(text, takenAt, idBytes, rows, HEAD_BYTES + textBytes);
    }

    private static FileCatalogue.Format records(String text, Instant takenAt, int idBytes, long rows, long from) {
        String[] lines = text.split("\n", -1);
        if (lines.length < 2) {
            throw FileCatalogue.corrupt("its head names no owner and no incarnation");
        }
        try {
            List<NodeId> nodes = new ArrayList<>();
            for (int i = 2; i < lines.length; i++) {
                nodes.add(new NodeId(lines[i]));
            }
            FileCatalogue.Head head = new FileCatalogue.Head(new OwnerId(lines[0]), takenAt, lines[1]);
            return new Records(head, idBytes, rows, from, List.copyOf(nodes));
        } catch (HoldfastException e) {
            throw FileCatalogue.corrupt("its head says nonsense: " + e.getMessage());
        }
    }

    private static ByteBuffer read(FileChannel channel, long at, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        FileCatalogue.readFully(channel, at, buffer);
        return buffer.flip();
    }

    private record Records(FileCatalogue.Head head, int idBytes, long rows, long from, List<NodeId> nodes)
            implements FileCatalogue.Format {

        @Override
        public int ranges(int wanted) {
            return (int) Math.max(1, Math.min(wanted, rows / ROWS_A_READ));
        }

        @Override
        public void scan(FileChannel channel, int range, int ranges, Catalogue.PieceSink sink) throws Exception {
            int width = ROW_HEAD_BYTES + idBytes;
            long end = rows * (range + 1) / ranges;
            ByteBuffer buffer = ByteBuffer.allocate(ROWS_A_READ * width).order(ByteOrder.LITTLE_ENDIAN);
            byte[] id = new byte[idBytes];
            for (long row = rows * range / ranges; row < end; row += ROWS_A_READ) {
                int count = (int) Math.min(ROWS_A_READ, end - row);
                buffer.clear().limit(count * width);
                FileCatalogue.readFully(channel, from + row * width, buffer);
                buffer.flip();
                for (int i = 0; i < count; i++) {
                    int node = buffer.getInt();
                    if (node < 0 || node >= nodes.size()) {
                        throw FileCatalogue.corrupt("a row names node number " + node + " of " + nodes.size());
                    }
                    long created = buffer.getLong();
                    buffer.get(id);
                    sink.piece(nodes.get(node), id, created);
                }
            }
        }
    }
}
