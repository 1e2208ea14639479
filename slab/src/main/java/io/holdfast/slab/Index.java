package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.invoke.VarHandle;

/**
 * The hash index: lines of one cache line, each a sequence and five heads of chains that run through the chunks. What
 * eviction wants to know of a key lies in the same line, so that a get touches the line, the chunk and nothing else.
 *
 * <pre>
 *  line  +0   sequence: odd while a chain of this line changes; grows for ever, is never reset
 *        +8   head 0 .. +40 head 4:  reference (32) | more (1) | tag (15) | length (16)
 *        +48  marks: for each head, how often (2) and when (10) a value of its chain was last used
 *        +56  ghosts: the last two keys of this line that were evicted: fingerprint (22) | when (10)
 * </pre>
 *
 * The tag is of the first chunk's key, and {@code more} tells whether another may follow, so that most keys that are not
 * there are found absent without touching a chunk. The length is of its value, 65,535 for any from there on: who gets the
 * value makes room for it while the chunk is still on its way from memory.
 *
 * <p>A key has a home among the five heads of its line, and may be first under any of them: the home if it is free, else
 * another that is free, so that the tags of one cache line tell which chunk it is. Only when none is free does it go
 * second into the chain of its home. So whoever is not first is in the chain of its home.
 */
final class Index {

    static final long MORE = 1L << 32;
    static final int LONG = 0xffff;
    private static final int TAG_SHIFT = 33;
    private static final long TAG_MASK = 0x7fff;
    private static final int LENGTH_SHIFT = 48;
    /** Longer chains than this are a loop made by damage. */
    static final int CHAIN_MOST = 1 << 16;

    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Journal journal;

    Index(Memory memory, SlabLayout layout, Items items, Journal journal) {
        this.memory = memory;
        this.layout = layout;
        this.items = items;
        this.journal = journal;
    }

    static long lineAt(SlabLayout layout, long hash) {
        return layout.indexAt + Math.unsignedMultiplyHigh(hash, layout.lines) * SlabLayout.LINE_BYTES;
    }

    /** Where the head is that the key is under if it is not first under another. */
    static long homeAt(long line, long hash) {
        return line + 8 + (((hash & 0xffff) * SlabLayout.HEADS) >>> 16) * 8;
    }

    /** The tag in its place in the head. */
    private static long tag(long hash) {
        return (hash >>> 16 & TAG_MASK) << TAG_SHIFT;
    }

    static boolean tagMatches(long head, long hash) {
        return ((head >>> TAG_SHIFT ^ hash >>> 16) & TAG_MASK) == 0;
    }

    /** Whether the key of the hash is likely to be the first under the head. */
    static boolean mayBeFirst(long head, long hash) {
        return (int) head != 0 && tagMatches(head, hash);
    }

    /** The next head of a line after this one, around its end. */
    static long headAfter(long head) {
        return (head & 63) == SlabLayout.HEADS * 8L ? head - (SlabLayout.HEADS - 1) * 8L : head + 8;
    }

    /** The length of the first value of the chain, {@link #LONG} if it is that or more. */
    static int length(long head) {
        return (int) (head >>> LENGTH_SHIFT);
    }

    private static long withLength(long head, long shape) {
        long length = Math.min(Items.valueLength(shape) & 0xffffffffL, LONG);
        return (head & ((1L << LENGTH_SHIFT) - 1)) | (length << LENGTH_SHIFT);
    }

    private static long head(int reference, boolean more, long hash, long shape) {
        return withLength((reference & 0xffffffffL) | (more ? MORE : 0) | tag(hash), shape);
    }

    /** Whether the head says of its first value what is true. */
    static boolean describes(long head, long hash, long shape) {
        return tagMatches(head, hash) && withLength(head, shape) == head;
    }

    long lineAt(long hash) {
        return lineAt(layout, hash);
    }

    /** Where the head of the chain is that holds the chunk. */
    long headOf(long offset) {
        return headOf(items.hash(offset), offset);
    }

    long headOf(long hash, long offset) {
        return headOf(memory, hash, lineAt(hash), offset);
    }

    static long headOf(Memory memory, long hash, long line, long offset) {
        long home = homeAt(line, hash);
        int reference = Items.reference(offset);
        if ((int) memory.word(home) == reference) {
            return home;
        }
        for (long head = headAfter(home); head != home; head = headAfter(head)) {
            if ((int) memory.word(head) == reference) {
                return head;
            }
        }
        return home;
    }

    /** Where the head is under which {@link #stageLink} puts a chunk with the key. */
    long placeFor(long hash) {
        long home = homeAt(lineAt(hash), hash);
        if ((int) memory.word(home) == 0) {
            return home;
        }
        for (long head = headAfter(home); head != home; head = headAfter(head)) {
            if ((int) memory.word(head) == 0) {
                return head;
            }
        }
        return home;
    }

    /** Shuts readers out of a line; false if it was shut already, and then it is for others to open it again. */
    boolean shut(long line) {
        long sequence = memory.word(line);
        if ((sequence & 1) != 0) {
            return false;
        }
        memory.release(line, sequence + 1);
        VarHandle.storeStoreFence();
        return true;
    }

    void open(long line) {
        memory.release(line, memory.word(line) + 1);
    }

    /** Offset of the chunk with exactly this key, or 0. Only under the lock. */
    long find(long hash, int namespace, byte[] key) {
        long home = homeAt(lineAt(hash), hash);
        long at = home;
        do {
            long head = memory.word(at);
            if (mayBeFirst(head, hash)) {
                long offset = sound((int) head, 0);
                if (isOf(offset, namespace, key)) {
                    return offset;
                }
            }
            at = headAfter(at);
        } while (at != home);
        long head = memory.word(home);
        if ((head & MORE) == 0) {
            return 0;
        }
        int reference = items.next(sound((int) head, 0));
        for (int steps = 1; reference != 0; steps++) {
            long offset = sound(reference, steps);
            if (isOf(offset, namespace, key)) {
                return offset;
            }
            reference = items.next(offset);
        }
        return 0;
    }

    private boolean isOf(long offset, int namespace, byte[] key) {
        long shape = items.shape(offset);
        return Items.keyLength(shape) == key.length
                && Items.namespace(shape) == namespace
                && memory.matches(offset + Items.keyAt(shape), key);
    }

    /** Stages the chunk into its place, with its checksum: from then on there is a value in it. */
    void stageLink(long hash, long offset, int checksum) {
        long at = placeFor(hash);
        long head = memory.word(at);
        if ((int) head == 0) {
            journal.stage(offset, Items.head(0, checksum));
            journal.stage(at, head(Items.reference(offset), false, hash, items.shape(offset)));
            return;
        }
        long first = items.offset((int) head);
        journal.stage(offset, Items.head(items.next(first), checksum));
        journal.stageLow(first, Items.reference(offset));
        journal.stage(at, head | MORE);
    }

    /** Stages that whoever points to the chunk points to the one after it. */
    void stageUnlink(long hash, long offset) {
        long at = headOf(hash, offset);
        long head = memory.word(at);
        int next = items.next(offset);
        if ((int) head == Items.reference(offset)) {
            long after = 0;
            if (next != 0) {
                long following = items.offset(next);
                after = head(next, true, items.hash(following), items.shape(following));
            }
            journal.stage(at, after);
        } else {
            journal.stageLow(before((int) head, offset), next);
        }
    }

    /** Stages what the head tells of a value that gets another shape where it is. */
    void stageReshape(long hash, long offset, long shape) {
        long at = headOf(hash, offset);
        long head = memory.word(at);
        if ((int) head == Items.reference(offset)) {
            journal.stage(at, withLength(head, shape));
        }
    }

    /** Stages the other chunk in the place of this one. */
    void stageReplace(long hash, long offset, long other) {
        long at = headOf(hash, offset);
        long head = memory.word(at);
        journal.stage(other, memory.word(offset));
        if ((int) head == Items.reference(offset)) {
            journal.stageLow(at, Items.reference(other));
        } else {
            journal.stageLow(before((int) head, offset), Items.reference(other));
        }
    }

    /** The chunk whose next is this one. */
    private long before(int first, long offset) {
        int reference = first;
        for (int steps = 0; reference != 0; steps++) {
            long candidate = sound(reference, steps);
            reference = items.next(candidate);
            if (reference == Items.reference(offset)) {
                return candidate;
            }
        }
        throw new HoldfastException(Category.CORRUPT, "the value at offset " + offset + " is not in its chain");
    }

    private long sound(int reference, int steps) {
        if (steps > CHAIN_MOST) {
            throw new HoldfastException(Category.CORRUPT, "a chain of the index has no end");
        }
        return items.offset(reference);
    }

    /** Opens the lines that a mutation left shut. */
    void openAll() {
        for (long i = 0, line = layout.indexAt; i < layout.lines; i++, line += SlabLayout.LINE_BYTES) {
            if ((memory.word(line) & 1) != 0) {
                open(line);
            }
        }
    }

    void shutAll() {
        for (long i = 0, line = layout.indexAt; i < layout.lines; i++, line += SlabLayout.LINE_BYTES) {
            shut(line);
        }
    }

    /** Empties all chains, which are shut. */
    void emptyAll() {
        for (long i = 0, line = layout.indexAt; i < layout.lines; i++, line += SlabLayout.LINE_BYTES) {
            for (int head = 1; head <= SlabLayout.HEADS; head++) {
                memory.word(line + head * 8L, 0);
            }
        }
    }
}
