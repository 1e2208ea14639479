package io.holdfast.slab;

import io.holdfast.Time;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reading without the lock.
 *
 * <p>A read notes the sequence of the key's line, follows the chain, takes what it wants and looks at the sequence
 * again. Every mutation that takes a chunk out of a chain, changes it or moves it shuts the line of that chain first,
 * and a chunk is only written again after it was taken out of its chain. So if the sequence is the same before and
 * after, everything seen in between belonged to the chain all the time. Until that is known, nothing that was read is
 * believed: references are range-checked, lengths are read once and checked, and only then is memory for them asked
 * for.
 */
final class Reads {

    /** Takes what it wants from a value that may be torn. */
    @FunctionalInterface
    interface Taker<R> {
        @Nullable
        R take(Memory memory, long at, int length, long version);
    }

    private static final Taker<byte[]> COPY = (memory, at, length, version) -> {
        byte[] value = new byte[length];
        memory.read(at, value, 0, length);
        return value;
    };
    private static final int ATTEMPTS_MOST = 96;
    private static final int SPINS = 64;
    /** How long a read waits for the lock, when it is needed to repair or to get a value that changes all the time. */
    private static final long LOCKED_WITHIN = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long TORN = -1;

    private final Memory memory;
    private final SlabLayout layout;
    private final Items items;
    private final Slots slots;
    private final Pages pages;
    private final Namespaces namespaces;
    private final Recency recency;
    private final Processes processes;
    private final Time time;
    private final @Nullable CriticalSection section;

    Reads(
            Mutations mutations,
            Namespaces namespaces,
            Recency recency,
            Processes processes,
            Time time,
            CriticalSection section) {
        this.memory = mutations.memory;
        this.layout = mutations.layout;
        this.items = mutations.items;
        this.slots = mutations.slots;
        this.pages = mutations.pages;
        this.namespaces = namespaces;
        this.recency = recency;
        this.processes = processes;
        this.time = time;
        this.section = memory.isReadOnly() ? null : section;
    }

    byte @Nullable [] copy(int namespace, byte[] key) {
        return copy(items.hash(namespace, key), namespace, key);
    }

    /**
     * A copy of the value under the key; null if there is none.
     *
     * <p>Nearly always the value is the first of a chain and the head tells how long it is. So its chunk is sent for, and
     * while it comes from memory the copy is made room for; what was read is believed or not at the end, once.
     */
    byte @Nullable [] copy(long hash, int namespace, byte[] key) {
        long line = Index.lineAt(layout, hash);
        long headAt = Index.homeAt(line, hash);
        long sequence = memory.acquire(line);
        long head = memory.word(headAt);
        if (!Index.mayBeFirst(head, hash)) {
            headAt = otherHead(headAt, hash);
            head = memory.word(headAt);
        }
        long offset = (head & 0xffffffffL) << 3;
        int length = Index.length(head);
        if ((sequence & 1) != 0
                || memory.opaque(SlabLayout.C_UNVERIFIED) != 0
                || length == Index.LONG
                || key.length > SlabLayout.KEY_MOST
                || !Index.tagMatches(head, hash)
                || !layout.holdsItem(offset)) {
            return get(hash, namespace, key, COPY);
        }
        // What a chunk with this key must say, so that nothing below waits for what it does say.
        long shape = Items.shape(length, key.length, namespace, 0);
        if (!fits(offset, shape | Items.FLAG_TTL)) {
            return get(hash, namespace, key, COPY);
        }
        // In this order: making room writes as much as the processor can keep in flight, and would delay the reading.
        long found = memory.acquire(Items.shapeAt(offset));
        byte[] value = new byte[length];
        int keyAt = Items.keyAt(found);
        if ((found & ~(Items.FLAG_MAIN | Items.FLAG_TTL)) != shape || !memory.matches(offset + keyAt, key)) {
            return get(hash, namespace, key, COPY);
        }
        long version = items.version(offset);
        boolean gone = isGone(offset, found, version);
        memory.read(offset + keyAt + key.length, value, 0, length);
        VarHandle.acquireFence();
        if (memory.opaque(line) != sequence) {
            return get(hash, namespace, key, COPY);
        }
        if (gone) {
            processes.missed();
            return null;
        }
        hit(headAt, offset, version);
        return value;
    }

    /** Of the other heads of the line, the one that the key may be first under; the home again if there is none. */
    private long otherHead(long home, long hash) {
        long at = Index.headAfter(home);
        while (at != home && !Index.mayBeFirst(memory.word(at), hash)) {
            at = Index.headAfter(at);
        }
        return at;
    }

    private void hit(long head, long offset, long version) {
        if (!processes.isAttached()) {
            return;
        }
        if (processes.hit()) {
            slots.addHits(pages.slotOf(offset), Processes.SAMPLED_ONE_IN);
        }
        recency.touched(head, offset, version);
    }

    <R> @Nullable R get(int namespace, byte[] key, Taker<R> taker) {
        return get(items.hash(namespace, key), namespace, key, taker);
    }

    /** What the taker makes of the value under the key; null if there is none. */
    <R> @Nullable R get(long hash, int namespace, byte[] key, Taker<R> taker) {
        long line = Index.lineAt(layout, hash);
        boolean shut = false;
        for (int attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
            long sequence = memory.acquire(line);
            shut = (sequence & 1) != 0;
            if (shut) {
                pause(attempt);
                continue;
            }
            long offset = find(Index.homeAt(line, hash), hash, namespace, key);
            long shape = offset > 0 ? items.shape(offset) : 0;
            long version = offset > 0 ? items.version(offset) : 0;
            boolean gone = offset > 0 && isGone(offset, shape, version);
            VarHandle.acquireFence();
            if (memory.opaque(line) != sequence) {
                continue;
            }
            if (offset <= 0 || gone || !fits(offset, shape)) {
                processes.missed();
                return null;
            }
            boolean whole = memory.opaque(SlabLayout.C_UNVERIFIED) == 0 || items.isWhole(offset, Items.bytes(shape));
            if (!whole && memory.acquire(line) == sequence) {
                processes.missed();
                return null;
            }
            R taken;
            try {
                taken = taker.take(
                        memory,
                        offset + Items.keyAt(shape) + Items.keyLength(shape),
                        Items.valueLength(shape),
                        version);
            } catch (RuntimeException | Error e) {
                VarHandle.acquireFence();
                if (memory.opaque(line) == sequence) {
                    throw e;
                }
                continue;
            }
            VarHandle.acquireFence();
            if (memory.opaque(line) == sequence) {
                hit(Index.headOf(memory, hash, line, offset), offset, version);
                return taken;
            }
        }
        R taken = shut ? null : getLocked(hash, namespace, key, taker);
        if (taken == null) {
            processes.missed();
        }
        return taken;
    }

    /** A line that changes faster than a value of it can be copied stands still while the lock is held. */
    private <R> @Nullable R getLocked(long hash, int namespace, byte[] key, Taker<R> taker) {
        Hold hold = section == null ? null : section.enter(LOCKED_WITHIN);
        if (hold == null) {
            return null;
        }
        try {
            long offset = find(Index.homeAt(Index.lineAt(layout, hash), hash), hash, namespace, key);
            if (offset <= 0 || isGone(offset) || !items.isWhole(offset, pages.room(offset))) {
                return null;
            }
            long shape = items.shape(offset);
            long at = offset + Items.keyAt(shape) + Items.keyLength(shape);
            R taken = taker.take(memory, at, Items.valueLength(shape), items.version(offset));
            hit(Index.headOf(memory, hash, Index.lineAt(layout, hash), offset), offset, items.version(offset));
            return taken;
        } finally {
            hold.close();
        }
    }

    /** Offset of the chunk with the key; 0 if there is none, {@link #TORN} if the chain made no sense. */
    private long find(long home, long hash, int namespace, byte[] key) {
        long at = home;
        do {
            long head = memory.word(at);
            if (Index.mayBeFirst(head, hash)) {
                long offset = (head & 0xffffffffL) << 3;
                if (!layout.holdsItem(offset)) {
                    return TORN;
                }
                if (isOf(offset, items.shape(offset), namespace, key)) {
                    return offset;
                }
            }
            at = Index.headAfter(at);
        } while (at != home);
        long head = memory.word(home);
        return (head & Index.MORE) == 0 ? 0 : findBehind(head & 0xffffffffL, namespace, key);
    }

    /** As above, among those in the chain after the first. */
    private long findBehind(long first, int namespace, byte[] key) {
        long offset = first << 3;
        for (int steps = 0; layout.holdsItem(offset) && steps <= Index.CHAIN_MOST; steps++) {
            if (steps > 0 && isOf(offset, items.shape(offset), namespace, key)) {
                return offset;
            }
            offset = (items.next(offset) & 0xffffffffL) << 3;
            if (offset == 0) {
                return 0;
            }
        }
        return TORN;
    }

    /** Whether a chunk of this shape has the key and lies in the file; true of nothing until the sequence was checked. */
    private boolean isOf(long offset, long shape, int namespace, byte[] key) {
        return Items.keyLength(shape) == key.length
                && Items.namespace(shape) == namespace
                && fits(offset, shape)
                && memory.matches(offset + Items.keyAt(shape), key);
    }

    private boolean fits(long offset, long shape) {
        return Items.valueLength(shape) >= 0 && offset + Items.bytes(shape) <= layout.size;
    }

    /** Whether the value has lapsed, or its namespace was cleared. */
    boolean isGone(long offset, long shape, long version) {
        if (version <= namespaces.clearedAt(Items.namespace(shape))) {
            return true;
        }
        if (!Items.hasDeadline(shape) || offset > layout.size - Items.HEADER - Items.DEADLINES) {
            return false;
        }
        return time.nanoTime() - items.monotonicDeadline(offset) >= 0 || time.millis() >= items.wallDeadline(offset);
    }

    /** Of a value that nobody can change meanwhile: only under the lock. */
    boolean isGone(long offset) {
        return isGone(offset, items.shape(offset), items.version(offset));
    }

    @SuppressWarnings("ThreadPriorityCheck") // the writer may want this very processor; nothing relies on it
    private void pause(int attempt) {
        if (attempt < SPINS) {
            Thread.onSpinWait();
        } else if (attempt == SPINS) {
            if (section != null) {
                section.unblock(LOCKED_WITHIN);
            }
        } else {
            Thread.yield();
        }
    }

    /**
     * Every value of the region, line by line; one that is stored or moved meanwhile may be missed or met twice.
     *
     * @param withValues whether the entries carry copies of the values
     */
    void forEach(boolean withValues, java.util.function.Consumer<SlabEntry> visitor) {
        for (long i = 0; i < layout.lines; i++) {
            long line = layout.indexAt + i * SlabLayout.LINE_BYTES;
            for (int attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
                long sequence = memory.acquire(line);
                java.util.List<SlabEntry> entries = (sequence & 1) == 0 ? copyLine(line, sequence, withValues) : null;
                if (entries != null) {
                    entries.forEach(visitor);
                    break;
                }
                pause(attempt);
            }
        }
    }

    private java.util.@Nullable List<SlabEntry> copyLine(long line, long sequence, boolean withValues) {
        java.util.List<SlabEntry> entries = new java.util.ArrayList<>();
        for (int head = 1; head <= SlabLayout.HEADS; head++) {
            int reference = (int) memory.word(line + head * 8L);
            for (int steps = 0; reference != 0; steps++) {
                long offset = (reference & 0xffffffffL) << 3;
                if (!layout.holdsItem(offset) || steps > Index.CHAIN_MOST) {
                    return null;
                }
                long shape = items.shape(offset);
                long version = items.version(offset);
                int next = items.next(offset);
                VarHandle.acquireFence();
                if (memory.opaque(line) != sequence || !fits(offset, shape)) {
                    return null;
                }
                if (!isGone(offset, shape, version)) {
                    entries.add(copy(offset, shape, version, withValues));
                }
                reference = next;
            }
        }
        VarHandle.acquireFence();
        return memory.opaque(line) == sequence ? entries : null;
    }

    private SlabEntry copy(long offset, long shape, long version, boolean withValue) {
        byte[] value = new byte[withValue ? Items.valueLength(shape) : 0];
        memory.read(offset + Items.keyAt(shape) + Items.keyLength(shape), value, 0, value.length);
        return new SlabEntry(
                namespaces.name(Items.namespace(shape)),
                items.key(offset, shape),
                withValue ? value : null,
                Items.valueLength(shape),
                version,
                layout.unitOf(offset) / layout.sizes.span);
    }
}
