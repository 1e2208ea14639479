package io.holdfast.redis.graph;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a verify has read of a graph: for each id what is stored about it and what was counted. An entry may be told twice
 * (a scan may repeat itself) and counts once. About 25 bytes and a place in an {@link IdTable} for each value; objects only
 * for large values, leases and roots.
 */
final class Census {

    /** In values, whole. */
    static final int PRESENT = 1;
    /** In counts. */
    static final int COUNTED = 2;
    /** In edges, whole. */
    static final int PARENT = 4;
    /** In the work list. */
    static final int LISTED = 8;
    /** Noted: something about it changed since the verify began. */
    static final int CHANGED = 16;
    /** A way leads to it from something that is held. */
    static final int REACHED = 32;
    /** Something about it is kept in chunks: see {@link #large}. */
    static final int LARGE = 64;
    /** Its entry in counts or edges cannot be read. */
    static final int UNREADABLE = 128;

    /** Of things that are wrong, how many are kept; a graph that has more wrong than this is beyond a list. */
    static final int MOST_KEPT = 10_000;

    private static final Pattern SHAPED = Pattern.compile("(\\d+|b|d)\\|(\\d+),(\\d+)(?:\\|.*)?", Pattern.DOTALL);

    /** A large value: its state and the chunks that were seen. */
    static final class Large {
        /** The entry in counts; null if there is none of a large value. */
        byte @Nullable [] state;
        /** What stands before the shape: holds, or b, or d. */
        String head = "";

        int valueChunks;
        int edgeChunks;
        final BitSet values = new BitSet();
        final BitSet edges = new BitSet();
    }

    /** An edge to a value that was not in values. */
    record Dangling(int parent, int child) {}

    /**
     * A value whose neighbour in a line does not know it.
     *
     * @param kept its entry in edges without that neighbour
     */
    record BrokenLine(int id, EdgeEntry kept) {}

    /** A lease's hold on a value. */
    record LeaseHold(long lease, int id) {}

    final int width;
    final IdTable ids;
    final IdTable.Ints holds = new IdTable.Ints();
    final IdTable.Ints stored = new IdTable.Ints();
    final IdTable.Flags flags = new IdTable.Flags();
    final Map<Integer, Large> large = new HashMap<>();
    final Map<String, Integer> roots = new HashMap<>();
    final Set<Long> leases = new HashSet<>();
    final Set<Long> leasesWithDeadline = new HashSet<>();
    final Set<Long> listedLeases = new HashSet<>();
    final Set<Long> changedLeases = new HashSet<>();
    /** The first hold of each lease that was not in lease-info. */
    final Map<Long, LeaseHold> unknownLeases = new HashMap<>();

    final List<Dangling> dangling = new ArrayList<>();
    final List<BrokenLine> brokenLines = new ArrayList<>();
    final List<LeaseHold> emptyHolds = new ArrayList<>();
    final List<String> unreadable = new ArrayList<>();
    long values;
    long edges;

    Census(int width, long expected) {
        this.width = width;
        this.ids = new IdTable(width, expected);
    }

    void value(byte[] packed, int at) {
        if (flags.set(ids.add(packed, at), PRESENT)) {
            values++;
        }
    }

    void valueChunk(byte[] field) {
        if (field.length != width + 4) {
            unreadable("a field of " + field.length + " bytes in values");
            return;
        }
        largeOf(ids.add(field, 0)).values.set(chunkNumber(field));
    }

    void count(byte[] field, byte[] state) {
        if (field.length != width) {
            unreadable("a field of " + field.length + " bytes in counts");
            return;
        }
        int id = ids.add(field, 0);
        String text = new String(state, StandardCharsets.ISO_8859_1);
        Matcher shaped = SHAPED.matcher(text);
        flags.set(id, COUNTED);
        if (shaped.matches()) {
            Large it = largeOf(id);
            if (it.state == null) {
                values++;
            }
            it.state = state;
            it.head = shaped.group(1);
            it.valueChunks = Integer.parseInt(shaped.group(2));
            it.edgeChunks = Integer.parseInt(shaped.group(3));
            stored.set(id, Character.isDigit(it.head.charAt(0)) ? Integer.parseInt(it.head) : 0);
        } else if (text.matches("\\d{1,10}")) {
            stored.set(id, (int) Math.min(Integer.MAX_VALUE, Long.parseLong(text)));
        } else {
            flags.set(id, UNREADABLE);
        }
    }

    /** Whether an entry of edges is to be counted: its field can be read, and it was not told before. */
    boolean isNewInEdges(byte[] field) {
        if (field.length == width) {
            return flags.set(ids.add(field, 0), PARENT);
        }
        if (field.length != width + 4) {
            unreadable("a field of " + field.length + " bytes in edges");
            return false;
        }
        Large it = largeOf(ids.add(field, 0));
        boolean isNew = !it.edges.get(chunkNumber(field));
        it.edges.set(chunkNumber(field));
        return isNew;
    }

    /** Edges, of a value or of one chunk of it: each is a hold on the child. */
    void edges(byte[] field, byte[] list) {
        int parent = ids.add(field, 0);
        for (int at = 0; at < list.length; at += width) {
            holds.add(edge(parent, list, at), 1);
        }
    }

    /** Edges of a value in a line: it holds the children that the one before it does not have. */
    void edgesInLine(ValueId id, EdgeEntry entry, EdgeEntry before) {
        int parent = ids.add(id);
        List<Integer> earlier = new ArrayList<>();
        for (int at = 0; at < before.packed().length; at += width) {
            earlier.add(ids.add(before.packed(), at));
        }
        EdgeEntry.ownChildren(edges(parent, entry), earlier).forEach(child -> holds.add(child, 1));
    }

    /**
     * A value says that another one is next to it in a line, and that one does not say so. What the two hold together is
     * not known then, so the counts of its children are not judged.
     *
     * @param kept its entry in edges without that neighbour
     */
    void brokenLine(ValueId id, EdgeEntry entry, EdgeEntry kept) {
        int parent = ids.add(id);
        for (int child : edges(parent, entry)) {
            flags.set(child, CHANGED);
        }
        if (brokenLines.size() < MOST_KEPT) {
            brokenLines.add(new BrokenLine(parent, kept));
        }
    }

    void unreadableEdges(byte[] field) {
        flags.set(ids.add(field, 0), UNREADABLE);
    }

    private List<Integer> edges(int parent, EdgeEntry entry) {
        List<Integer> children = new ArrayList<>();
        for (int at = 0; at < entry.packed().length; at += width) {
            children.add(edge(parent, entry.packed(), at));
        }
        return children;
    }

    private int edge(int parent, byte[] list, int at) {
        int child = ids.add(list, at);
        edges++;
        if (!isPresent(child) && dangling.size() < MOST_KEPT) {
            dangling.add(new Dangling(parent, child));
        }
        return child;
    }

    void root(String name, byte[] stored) {
        byte[] target;
        try {
            target = Root.parse(stored, "0").target().orElseThrow().raw();
        } catch (RuntimeException e) {
            unreadable("root " + name);
            return;
        }
        if (target.length != width) {
            unreadable("root " + name);
            return;
        }
        int id = ids.add(target, 0);
        Integer before = roots.put(name, id);
        if (before == null || before != id) {
            holds.add(id, 1);
            flags.set(id, REACHED);
        }
    }

    /** An element of held. These come in order and never twice. */
    void held(byte[] member) {
        if (member.length != Long.BYTES + width) {
            unreadable("an element of " + member.length + " bytes in held");
            return;
        }
        long lease = ByteBuffer.wrap(member).getLong();
        int id = ids.add(member, Long.BYTES);
        holds.add(id, 1);
        flags.set(id, REACHED);
        LeaseHold hold = new LeaseHold(lease, id);
        if (!leases.contains(lease)) {
            unknownLeases.putIfAbsent(lease, hold);
        }
        if (!isPresent(id) && emptyHolds.size() < MOST_KEPT) {
            emptyHolds.add(hold);
        }
    }

    /** An element of the work list. */
    void listed(byte[] hint) {
        int payload = hint.length < 2 ? hint.length : 2 + (hint[1] & 0xff);
        if (hint.length > payload && hint[0] == 'l' && hint.length - payload == Long.BYTES) {
            listedLeases.add(ByteBuffer.wrap(hint, payload, Long.BYTES).getLong());
        } else if (hint.length > payload && hint[0] == 'v' && (hint.length - payload) % width == 0) {
            for (int at = payload; at < hint.length; at += width) {
                flags.set(ids.add(hint, at), LISTED);
            }
        } else {
            unreadable("an element of " + hint.length + " bytes in doomed");
        }
    }

    /** A note: an id or a lease that changed. Answers the number of the id, if it is one. */
    int noted(byte[] idOrLease) {
        if (idOrLease.length == width) {
            int id = ids.add(idOrLease, 0);
            flags.set(id, CHANGED);
            return id;
        }
        if (idOrLease.length == Long.BYTES) {
            changedLeases.add(ByteBuffer.wrap(idOrLease).getLong());
        }
        return IdTable.NONE;
    }

    boolean isPresent(int id) {
        if (flags.has(id, PRESENT)) {
            return true;
        }
        Large it = flags.has(id, LARGE) ? large.get(id) : null;
        return it != null && it.state != null;
    }

    /** Holds as counts says: its entry, or 1 for a value without one. */
    int storedHolds(int id) {
        return flags.has(id, COUNTED) ? stored.get(id) : 1;
    }

    /** The memory that it takes for each id, in bytes; without large values, leases and roots, which are few. */
    double bytesPerId() {
        return (double) (ids.bytes() + holds.bytes() + stored.bytes() + flags.bytes()) / Math.max(1, ids.size());
    }

    private Large largeOf(int id) {
        flags.set(id, LARGE);
        return large.computeIfAbsent(id, it -> new Large());
    }

    /** A field on a shelf where nobody looks for it. */
    void misplaced(String part, String shelf) {
        unreadable("a field of " + part + " on shelf " + shelf + " that belongs on another");
    }

    private void unreadable(String what) {
        if (unreadable.size() < MOST_KEPT) {
            unreadable.add(what);
        }
    }

    private int chunkNumber(byte[] field) {
        // A wild number must not make the bit set huge: chunks are 256 KiB or 128 edges, so there are not that many.
        return ByteBuffer.wrap(field, width, 4).getInt() & 0xff_ffff;
    }
}
