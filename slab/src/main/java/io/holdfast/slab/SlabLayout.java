package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Where everything lies in the file, computed from six numbers of the header and never stored as offsets, so that a
 * damaged file cannot point anywhere.
 *
 * <p>A file is a row of one or more shards of equal length. Each is a region that is whole in itself, with its own lock,
 * tables, journal and data, and all offsets count from its begin. What the first shard alone has are the header and the
 * names of namespaces; the others have the same places and leave them empty.
 *
 * <pre>
 *  0        +---------------------------------------------------------------+
 *           | header      magic, version, size, preset, pages, boot, CRC    |  4 KiB, written once
 *  4096     +---------------------------------------------------------------+
 *           | control     lock | counters | epoch | ring | journal          |  4 KiB
 *  8192     +---------------------------------------------------------------+
 *           | namespaces  256 x 64    cleared-at version, name              |
 *           | processes    64 x 1088  identity, counters of puts and gets   |
 *           | loads       256 x 32    who loads which key for the host      |
 *           | slots       192 x 128   queues, counts, page list             |
 *           | ring       4096 x 8     SEED: who was read, in order          |
 *           | units        n x 16     state, links; SEED: n x 32            |
 *           | index        m x 64     sequence, five chain heads, marks     |
 *  dataAt   +---------------------------------------------------------------+
 *           | data         pages of chunks of one slot, runs of units       |
 *  size     +---------------------------------------------------------------+
 *
 *  chunk    w0  next in chain (32) | checksum (32)     0 in the upper half: no value here;
 *               a free chunk keeps the number of the next free chunk in its lower half
 *           w1  queue: newer (32)  | older (32)
 *           w2  version
 *           w3  value length (32)  | key length (16) | namespace (8) | flags (8)
 *           [w4 monotonic deadline, w5 wall deadline: only with flag TTL]
 *           key bytes, value bytes
 * </pre>
 *
 * A reference is a byte offset in the shard divided by eight, in 32 bits: a shard ends at 32 GiB. 0 is no reference.
 */
final class SlabLayout {

    static final long MAGIC = 0x31_42_41_4c_53_46_48L | (long) 'H' << 56; // "HFSLAB1H" as little-endian bytes
    static final int VERSION = 3;
    static final String SUFFIX = ".slab" + VERSION;

    static final long SIZE_MOST = 1L << 35;
    static final int SHARDS_MOST = 64;
    static final int KEY_MOST = 65_535;
    static final int SLOTS = 192;
    static final int NAMESPACES = 256;
    static final int PROCESSES = 64;
    static final int LOADS = 256;
    static final int RING = 4096;
    static final int HEADS = 5;

    static final int NAMESPACE_BYTES = 64;
    static final int PROCESS_BYTES = 1088;
    static final int LOAD_BYTES = 32;
    static final int SLOT_BYTES = 128;
    static final int LINE_BYTES = 64;

    // header
    static final long H_MAGIC = 0;
    static final long H_VERSION = 8;
    static final long H_SIZE = 16;
    static final long H_RULES = 24; // preset (8) | policy (8) | page shift (8)
    static final long H_PAGES = 32;
    static final long H_LINES = 40;
    static final long H_BOOT = 48; // 16 bytes
    static final long H_SHARDS = 64;
    static final long H_HASH_SEED = 72;
    static final long H_CREATED = 80;
    static final long H_CHECKSUM = 88;
    static final int HEADER_USED = 96;

    // control: words that readers poll have a cache line of their own
    static final long CONTROL = 4096;
    static final long C_LOCK = CONTROL;
    static final long C_HUNGRY = CONTROL + 8; // a process whose first waiter has waited for long
    static final long C_HOLDS = CONTROL + 16; // how often the lock was taken
    static final long C_VERSION = CONTROL + 64;
    static final long C_RESERVED = CONTROL + 72; // chunk on its way in (lower half), on its way out (upper half)
    static final long C_FREE = CONTROL + 80; // first free run that holds a page (lower half), free units (upper half)
    static final long C_FREE_SHORT = CONTROL + 200; // first free run that holds no whole page
    static final long C_DAMAGED = CONTROL + 88; // salvage has begun and not ended
    static final long C_EPOCH_BYTES = CONTROL + 96;
    static final long C_LOADS = CONTROL + 104; // 0: no load is pending
    static final long C_RING_DRAINED = CONTROL + 112;
    static final long C_REWRITING = CONTROL + 120; // chunk whose value is being replaced where it is
    static final long C_EPOCH = CONTROL + 128;
    static final long C_UNVERIFIED = CONTROL + 136; // not 0: gets check values themselves, see Verification
    static final long C_RING_TAIL = CONTROL + 192;
    static final long C_COUNTERS = CONTROL + 256; // see Counter
    static final long C_JOURNAL = CONTROL + 1024;

    // Limits of what a mutation may write: everything after the journal, and the control words before it.
    static final long TABLES = 8192;

    final Preset preset;
    final Policy policy;
    final int pageShift;
    final int pages;
    final int units;
    final long lines;
    final int shards;

    final long namespacesAt;
    final long processesAt;
    final long loadsAt;
    final long slotsAt;
    final long ringAt;
    final long unitsAt;
    final int unitEntryBytes;
    final long indexAt;
    final long dataAt;
    /** Of one shard. */
    final long size;

    final SlotSizes sizes;

    private SlabLayout(Preset preset, Policy policy, int pageShift, int pages, long lines, int shards) {
        this.shards = shards;
        this.preset = preset;
        this.policy = policy;
        this.pageShift = pageShift;
        this.pages = pages;
        this.lines = lines;
        sizes = new SlotSizes(preset, pageShift);
        units = pages * sizes.span;
        unitEntryBytes = preset == Preset.SEED ? 32 : 16;
        long data = (long) pages << pageShift;
        namespacesAt = TABLES;
        processesAt = namespacesAt + NAMESPACES * NAMESPACE_BYTES;
        loadsAt = processesAt + PROCESSES * PROCESS_BYTES;
        slotsAt = loadsAt + LOADS * LOAD_BYTES;
        ringAt = slotsAt + SLOTS * SLOT_BYTES;
        unitsAt = aligned(ringAt + (preset == Preset.SEED ? RING * 8L : 0), 64);
        indexAt = aligned(unitsAt + (long) units * unitEntryBytes, 64);
        dataAt = aligned(indexAt + lines * LINE_BYTES, 4096);
        size = dataAt + data;
    }

    /** The largest layout that fits into so many bytes. */
    static SlabLayout fitting(long size, Preset preset, Policy policy, int pageShift, int averageItem, int shards) {
        long low = 0;
        long high = Math.min((size / shards) >>> pageShift, Integer.MAX_VALUE >>> 1);
        while (low < high) {
            long middle = (low + high + 1) >>> 1;
            if (ofPages((int) middle, preset, policy, pageShift, averageItem).size <= size / shards) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return ofPages((int) low, preset, policy, pageShift, averageItem).times(shards);
    }

    /** The same shard so many times. */
    SlabLayout times(int count) {
        return new SlabLayout(preset, policy, pageShift, pages, lines, count);
    }

    /** One shard of so many pages. */
    static SlabLayout ofPages(int pages, Preset preset, Policy policy, int pageShift, int averageItem) {
        long heads = Math.max(HEADS * 8L, ((long) pages << pageShift) / averageItem);
        return new SlabLayout(preset, policy, pageShift, pages, (heads + HEADS - 1) / HEADS, 1);
    }

    /** Length of the whole file. */
    long fileBytes() {
        return size * shards;
    }

    /** What can hold values, in the whole file. */
    long dataBytes() {
        return ((long) pages << pageShift) * shards;
    }

    static long aligned(long at, long to) {
        return (at + to - 1) & -to;
    }

    int pageBytes() {
        return 1 << pageShift;
    }

    int unitOf(long offset) {
        return (int) ((offset - dataAt) >>> sizes.unitShift);
    }

    long unitStart(int unit) {
        return dataAt + ((long) unit << sizes.unitShift);
    }

    /** Whether a chunk's fixed words can lie at the offset. */
    boolean holdsItem(long offset) {
        return offset >= dataAt && offset <= size - Items.HEADER && (offset & 7) == 0;
    }

    void writeHeader(MemorySegment file, Host host, long hashSeed, long createdMillis) {
        Memory memory = new Memory(file);
        memory.word(H_VERSION, VERSION);
        memory.word(H_SIZE, fileBytes());
        memory.word(H_RULES, code(preset) | code(policy) << 8 | pageShift << 16);
        memory.word(H_PAGES, pages);
        memory.word(H_LINES, lines);
        memory.word(H_SHARDS, shards);
        memory.word(H_BOOT, host.bootHigh());
        memory.word(H_BOOT + 8, host.bootLow());
        memory.word(H_HASH_SEED, hashSeed);
        memory.word(H_CREATED, createdMillis);
        memory.word(H_MAGIC, MAGIC);
        memory.word(H_CHECKSUM, checksum(file));
    }

    /** Reads and judges a header of untrusted bytes; the file must be exactly as long as the header says. */
    static SlabLayout readHeader(MemorySegment file, String name) {
        Memory memory = new Memory(file);
        if (memory.size < TABLES || memory.word(H_MAGIC) != MAGIC) {
            throw refused(name, "it is not a slab cache");
        }
        if (memory.word(H_VERSION) != VERSION) {
            throw refused(name, "its layout is version " + memory.word(H_VERSION) + ", this program reads " + VERSION);
        }
        if (memory.word(H_CHECKSUM) != checksum(file)) {
            throw refused(name, "the checksum of its header is wrong");
        }
        long rules = memory.word(H_RULES);
        Preset preset = preset((int) rules & 0xff);
        Policy policy = policy((int) (rules >>> 8) & 0xff);
        int pageShift = (int) (rules >>> 16) & 0xff;
        long pages = memory.word(H_PAGES);
        long lines = memory.word(H_LINES);
        long shards = memory.word(H_SHARDS);
        if (preset == null
                || policy == null
                || pageShift < SlotSizes.PAGE_SHIFT_LEAST
                || pageShift > SlotSizes.PAGE_SHIFT_MOST
                || pages < 1
                || pages > SIZE_MOST >>> pageShift
                || lines < 1
                || lines > SIZE_MOST / LINE_BYTES
                || shards < 1
                || shards > SHARDS_MOST
                || Long.bitCount(shards) != 1) {
            throw refused(name, "its header describes an impossible geometry");
        }
        SlabLayout layout = new SlabLayout(preset, policy, pageShift, (int) pages, lines, (int) shards);
        if (layout.fileBytes() != memory.word(H_SIZE)) {
            throw refused(
                    name, "its header describes " + layout.fileBytes() + " bytes and claims " + memory.word(H_SIZE));
        }
        return layout;
    }

    private static int code(Preset preset) {
        return switch (preset) {
            case ADAPTIVE -> 1;
            case SEED -> 2;
        };
    }

    private static int code(Policy policy) {
        return switch (policy) {
            case SLRU -> 1;
            case LRU -> 2;
            case NONE -> 3;
        };
    }

    private static @Nullable Preset preset(int code) {
        return switch (code) {
            case 1 -> Preset.ADAPTIVE;
            case 2 -> Preset.SEED;
            default -> null;
        };
    }

    private static @Nullable Policy policy(int code) {
        return switch (code) {
            case 1 -> Policy.SLRU;
            case 2 -> Policy.LRU;
            case 3 -> Policy.NONE;
            default -> null;
        };
    }

    private static long checksum(MemorySegment file) {
        CRC32C crc = new CRC32C();
        crc.update(file.asSlice(0, H_CHECKSUM).toArray(ValueLayout.JAVA_BYTE));
        return crc.getValue();
    }

    static HoldfastException refused(String name, String why) {
        return new HoldfastException(
                Category.CORRUPT,
                "cannot use " + name + ": " + why,
                "check the path; if the file is a damaged cache, delete it and it is created anew",
                null);
    }
}
