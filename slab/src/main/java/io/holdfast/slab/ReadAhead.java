package io.holdfast.slab;

/**
 * Sends for the memory that a put is going to need, so that it comes all at once and not piece by piece under the lock:
 * the line of the key and the caller's value; then the chunk that the line names, or the likely victim and what hangs on
 * it, and while they come the checksum is computed. What is read here is a guess, and nothing but time depends on it.
 */
final class ReadAhead {

    private static final int KEY_MOST = 256;
    /** Of larger values the processor sees by itself what comes next. */
    private static final long BYTES_MOST = 4096;

    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Index index;
    private final Pages pages;
    private final Eviction eviction;

    ReadAhead(Mutations mutations, Eviction eviction) {
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
        this.index = mutations.index;
        this.pages = mutations.pages;
        this.eviction = eviction;
    }

    /**
     * @param bytes of the value with all that belongs to it
     * @return the {@link Checksum} of the value
     */
    long content(long hash, byte[] value, long bytes) {
        long home = Index.homeAt(index.lineAt(hash), hash);
        long head = memory.acquire(home);
        long given = touch(value);
        for (long at = Index.headAfter(home); !Index.mayBeFirst(head, hash) && at != home; at = Index.headAfter(at)) {
            head = memory.word(at);
        }
        long seen = Index.mayBeFirst(head, hash) ? sendFor((int) head, bytes) : sendForVictim(bytes);
        if (isNever(seen + given)) {
            Thread.onSpinWait();
        }
        return Checksum.of(Checksum.NOTHING, value, value.length);
    }

    /** The caller's own lines: all of them asked for at once, not one by one while they are added up. */
    private static long touch(byte[] value) {
        int most = (int) Math.min(value.length, BYTES_MOST);
        long sum = 0;
        for (int i = 0; i < most; i += SlabLayout.LINE_BYTES) {
            sum += value[i];
        }
        return sum;
    }

    /** The chunk, and what the page table says of it. */
    private long sendFor(int reference, long bytes) {
        long offset = (reference & 0xffffffffL) << 3;
        if (!layout.holdsItem(offset) || offset > layout.size - bytes) {
            return 0;
        }
        return memory.touch(offset, Math.min(bytes, BYTES_MOST)) + pages.state(layout.unitOf(offset));
    }

    /** The value that goes, whose chunk is written then, its line, and its neighbour in the queue. */
    private long sendForVictim(long bytes) {
        int victim = eviction.likelyVictim(layout.sizes.slotFor(bytes));
        long offset = (victim & 0xffffffffL) << 3;
        if (!layout.holdsItem(offset)) {
            return 0;
        }
        long seen = sendFor(victim, bytes) + sendFor(items.newer(offset), Long.BYTES);
        // Without the lock any length may be read: a key that may end outside the file is left alone.
        boolean inside = offset < layout.size - Items.HEADER - Items.DEADLINES - SlabLayout.KEY_MOST;
        if (inside && Items.keyLength(items.shape(offset)) <= KEY_MOST) {
            seen += memory.acquire(index.lineAt(items.hash(offset)));
        }
        return seen;
    }

    /** What was read must seem to be of use, or the compiler drops the reading. */
    private static boolean isNever(long word) {
        return word == 0x5eed_5eed_5eed_5eedL;
    }
}
