package io.holdfast.app.wiring;

import io.holdfast.sweep.catalogue.Catalogue.PieceSink;
import io.holdfast.sweep.piece.NodeId;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The names of pieces that a scan met, in a file that goes when it is closed. A record is {@code u32 node, u8 length, id, i64
 * milliseconds}; every so many records a new range begins. Written by one thread, then read by any number.
 */
final class PieceSpool implements AutoCloseable {

    private static final int RECORDS_IN_A_RANGE = 1 << 18;

    private final FileChannel file;
    private final DataOutputStream out;
    private final List<NodeId> nodes = new ArrayList<>();
    private final Map<NodeId, Integer> numbers = new HashMap<>();
    private final Map<NodeId, Long> counts = new HashMap<>();
    /** Where each range begins; after sealing also where the last one ends. */
    private final List<Long> bounds = new ArrayList<>(List.of(0L));

    private long written;
    private long records;

    PieceSpool() throws IOException {
        Path path = Files.createTempFile("holdfast-pieces", ".spool");
        file = FileChannel.open(
                path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
        out = new DataOutputStream(new BufferedOutputStream(new ChannelOutput(file), 1 << 16));
    }

    void add(NodeId node, byte[] id, long createdMillis) throws IOException {
        if (records > 0 && records % RECORDS_IN_A_RANGE == 0) {
            bounds.add(written);
        }
        Integer number = numbers.get(node);
        if (number == null) {
            number = nodes.size();
            nodes.add(node);
            numbers.put(node, number);
        }
        out.writeInt(number);
        out.writeByte(id.length);
        out.write(id);
        out.writeLong(createdMillis);
        written += Integer.BYTES + 1L + id.length + Long.BYTES;
        records++;
        counts.merge(node, 1L, Long::sum);
    }

    void seal() throws IOException {
        out.flush();
        bounds.add(written);
    }

    int ranges() {
        return bounds.size() - 1;
    }

    Map<NodeId, Long> counts() {
        return Map.copyOf(counts);
    }

    void read(int range, PieceSink sink) throws Exception {
        long end = bounds.get(range + 1);
        long at = bounds.get(range);
        DataInputStream in = new DataInputStream(new BufferedInputStream(new ChannelInput(file, at), 1 << 16));
        while (at < end) {
            NodeId node = nodes.get(in.readInt());
            byte[] id = new byte[in.readUnsignedByte()];
            in.readFully(id);
            sink.piece(node, id, in.readLong());
            at += Integer.BYTES + 1L + id.length + Long.BYTES;
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    private static final class ChannelOutput extends OutputStream {
        private final FileChannel file;

        ChannelOutput(FileChannel file) {
            this.file = file;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            ByteBuffer left = ByteBuffer.wrap(bytes, from, length);
            while (left.hasRemaining()) {
                file.write(left);
            }
        }
    }

    /** Reads at a position of its own, beside others. */
    private static final class ChannelInput extends InputStream {
        private final FileChannel file;
        private long at;

        ChannelInput(FileChannel file, long at) {
            this.file = file;
            this.at = at;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            int read = file.read(ByteBuffer.wrap(bytes, from, length), at);
            at += Math.max(0, read);
            return read;
        }
    }
}
