package io.holdfast.redis.graph.store;

import java.nio.ByteBuffer;

/**
 * How a value is stored. A plain value is one node. A large one, or one with many children, is a tree of them: its top
 * says how long it is and which of its children are its own nodes. Only plain values and tops have ids that are given
 * out.
 *
 * <pre>
 *   v BYTES                                     a plain value; its children are the value's
 *   b LENGTH8 PARTS4 PART-DEPTH LIST-DEPTH BYTES   a top: its first PARTS children hold the bytes, PART-DEPTH lists
 *                                               above their chunks; the others are the value's children,
 *                                               LIST-DEPTH lists below; with PARTS 0 the bytes are here
 *   c BYTES                                     a chunk
 *   i                                           a list of at most 256 nodes
 * </pre>
 */
public record Node(char kind, long length, int parts, int partDepth, int listDepth, byte[] bytes) {

    public static final char PLAIN = 'v';
    public static final char TOP = 'b';
    public static final char CHUNK = 'c';
    public static final char LIST = 'i';

    public static final int CHUNK_BYTES = 64 << 10;
    public static final int LIST_MAX = 256;
    private static final int TOP_HEAD = 1 + Long.BYTES + Integer.BYTES + 2;

    /** A node of bytes alone. */
    public static byte[] of(char kind, byte[] bytes, int from, int to) {
        byte[] node = new byte[1 + to - from];
        node[0] = (byte) kind;
        System.arraycopy(bytes, from, node, 1, to - from);
        return node;
    }

    public static byte[] top(long length, int parts, int partDepth, int listDepth, byte[] bytes) {
        return ByteBuffer.allocate(TOP_HEAD + bytes.length)
                .put((byte) TOP)
                .putLong(length)
                .putInt(parts)
                .put((byte) partDepth)
                .put((byte) listDepth)
                .put(bytes)
                .array();
    }

    public static Node read(byte[] node) {
        ByteBuffer in = ByteBuffer.wrap(node);
        char kind = (char) in.get();
        boolean top = kind == TOP;
        long length = top ? in.getLong() : node.length - 1;
        int parts = top ? in.getInt() : 0;
        int partDepth = top ? in.get() : 0;
        int listDepth = top ? in.get() : 0;
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return new Node(kind, length, parts, partDepth, listDepth, bytes);
    }
}
