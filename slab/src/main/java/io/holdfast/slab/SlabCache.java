package io.holdfast.slab;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A cache in shared memory for all JVMs of a host.
 *
 * <pre>
 *   try (var cache = SlabCache.open(Path.of("/dev/shm/pages"), SlabCache.mebibytes(256))) {
 *       cache.put(key, value);
 *       byte[] copy = cache.get(key);
 *   }
 * </pre>
 *
 * <h2>What it promises</h2>
 *
 * <ol>
 *   <li>A get returns the whole value last put under exactly that key, or nothing. It is a cache: nothing is always a
 *       legal answer, a wrong or torn value never.
 *   <li>The accounting is exact: a walk through the file agrees with every counter ({@link #audit}).
 *   <li>A process that dies at any instant, kill -9 included, neither blocks nor corrupts the others. One that is
 *       stopped blocks puts, which then return BUSY, and never gets.
 * </ol>
 *
 * <h2>How that stays true</h2>
 *
 * <p><b>Shards.</b> A cache is one or more shards ({@link Shards}), each a region of its own, and the hash of a key says which
 * of them has it. All that follows is about one shard.
 *
 * <p><b>One writer.</b> All mutations happen under one lock of the region ({@link RegionLock}). Its word names the
 * holder; it is taken from the dead and never from the living, and a {@link Hold} that is not tidy is not released as free.
 * Processes show that they live by locks on bytes of the file ({@link FileLife}).
 *
 * <p><b>Every mutation is a chain of micro-operations</b> ({@link Mutations}, {@link Pages}), each of at most sixteen
 * words that the {@link Journal} changes together or not at all, and <em>between</em> any two of them the region is in
 * order:
 *
 * <ul>
 *   <li>every chunk is free in its page, or used by exactly one value that is in one chain and one queue, or reserved
 *       by a half of the word C_RESERVED, and then in neither;
 *   <li>counts equal what they count; lists are linked both ways;
 *   <li>a chunk holds a value if and only if the upper half of its first word is not 0, and that half changes in the
 *       same micro-operation as chain and queue.
 * </ul>
 *
 * <p>So repair after a death is small: undo at most one micro-operation, free at most two reserved chunks, open the
 * lines that were shut. Each of these can be done twice, since the one who repairs may die too. The bytes of a value are
 * written only into a reserved chunk, which nobody can reach. If what is found makes no sense, the tables are rebuilt
 * from the values whose checksums are right ({@link Salvage}); what cannot be repaired is dropped, never served.
 *
 * <p><b>Readers take no lock</b> ({@link Reads}) and write nothing that a writer relies on. Each line of the index has a
 * 64-bit sequence, outside the data pages and never reset. Whoever is to change a chain, or to take a chunk out of it,
 * makes the sequence of its line odd <em>before</em> and even <em>after</em>. A reader believes what it has copied only
 * if the sequence was even and is still the same. It reached the chunk through a chain of that line; the chunk cannot
 * have been written since without having been taken out of the chain, and that would have changed this very sequence.
 * Therefore no generation per page is needed: the sequence of the line covers the reuse of chunk and page alike.
 *
 * <p><b>Order of stores.</b> odd sequence, fence, words; words, release, even sequence; a value's bytes come after the
 * odd sequence of the line that its chunk left. The target is x86-64 with Linux; the code names every ordering it needs,
 * but other processors are untested.
 *
 * <p><b>The file is untrusted</b> ({@link SlabFile}, {@link SlabLayout}): offsets are computed, not stored; every
 * reference is range-checked at each use, with the lock and without. The first process to attach, when no other lives, audits a
 * small region; in a large one gets check each value themselves until all were checked ({@link Verification}).
 *
 * <p>Which value goes when room is needed is for {@link SeedEviction} and {@link AdaptiveEviction} to say, and how gets
 * are remembered for {@link Recency}.
 *
 * <p>All methods may be called from any thread. Closing a cache while other threads use it is safe: what they
 * have begun ends as usual, or fails with MISUSE. A cache holds nothing durable: when all processes are gone the file may be deleted at any time.
 */
public final class SlabCache implements AutoCloseable {

    private final Path path;
    private final SlabRegion region;
    private final Shards shards;
    private final SlabNamespace unnamed;
    private final long patienceNanos;
    private volatile boolean closed;

    private SlabCache(Path path, SlabRegion region, long patienceNanos) {
        this.path = path;
        this.patienceNanos = patienceNanos;
        this.region = region;
        this.shards = region.shards;
        this.unnamed = new SlabNamespace(this, shards, 0, "");
    }

    /** Opens the cache or creates it: ADAPTIVE, the file of this size. */
    public static SlabCache open(Path path, long size) {
        return builder(path).size(size).open();
    }

    /** Opens a cache that exists, as it is. */
    public static SlabCache attach(Path path) {
        return builder(path).attach();
    }

    public static Builder builder(Path path) {
        return new Builder(path);
    }

    public static long mebibytes(long count) {
        return count << 20;
    }

    /** The file; its name ends with the version of the layout. */
    public Path file() {
        return path;
    }

    /** A namespace of this name, made if nobody has used it; names are {@code [A-Za-z0-9._-]{1,48}}. */
    public SlabNamespace namespace(String name) {
        checkOpen();
        if (!Namespaces.NAME.matcher(name).matches()) {
            throw HoldfastException.misuse(
                    "namespace '" + name + "'; allowed: " + Namespaces.NAME.pattern(), "choose another name");
        }
        return new SlabNamespace(this, shards, shards.namespace(name, patienceNanos), name);
    }

    /** The namespace of this name; empty if it was never used. */
    public Optional<SlabNamespace> findNamespace(String name) {
        checkOpen();
        int number = shards.findNamespace(name);
        return number < 0 ? Optional.empty() : Optional.of(new SlabNamespace(this, shards, number, name));
    }

    /** The unnamed namespace with keys and values of these types. */
    public <K, V> TypedNamespace<K, V> typed(SlabCodec<K> keys, SlabCodec<V> values) {
        return unnamed.typed(keys, values);
    }

    /** See {@link SlabNamespace#get}. */
    public byte @Nullable [] get(byte[] key) {
        return unnamed.get(key);
    }

    /** See {@link SlabNamespace#getVersioned}. */
    public @Nullable Versioned getVersioned(byte[] key) {
        return unnamed.getVersioned(key);
    }

    /** See {@link SlabNamespace#read}. */
    public <R> Optional<R> read(byte[] key, Function<? super MemorySegment, ? extends R> function) {
        return unnamed.read(key, function);
    }

    /** See {@link SlabNamespace#getAll}. */
    public List<byte @Nullable []> getAll(List<byte[]> keys) {
        return unnamed.getAll(keys);
    }

    /** See {@link SlabNamespace#put(byte[], byte[])}. */
    public PutResult put(byte[] key, byte[] value) {
        return unnamed.put(key, value);
    }

    /** See {@link SlabNamespace#put(byte[], byte[], Duration)}. */
    public PutResult put(byte[] key, byte[] value, Duration ttl) {
        return unnamed.put(key, value, ttl);
    }

    /** See {@link SlabNamespace#putAll(List, List)}. */
    public List<PutResult> putAll(List<byte[]> keys, List<byte[]> values) {
        return unnamed.putAll(keys, values);
    }

    /** See {@link SlabNamespace#putAll(List, List, Duration)}. */
    public List<PutResult> putAll(List<byte[]> keys, List<byte[]> values, Duration ttl) {
        return unnamed.putAll(keys, values, ttl);
    }

    /** See {@link SlabNamespace#safePut(byte[], byte[])}. */
    public PutResult safePut(byte[] key, byte[] value) {
        return unnamed.safePut(key, value);
    }

    /** See {@link SlabNamespace#safePut(byte[], byte[], Duration)}. */
    public PutResult safePut(byte[] key, byte[] value, Duration ttl) {
        return unnamed.safePut(key, value, ttl);
    }

    /** See {@link SlabNamespace#add(byte[], byte[])}. */
    public PutResult add(byte[] key, byte[] value) {
        return unnamed.add(key, value);
    }

    /** See {@link SlabNamespace#add(byte[], byte[], Duration)}. */
    public PutResult add(byte[] key, byte[] value, Duration ttl) {
        return unnamed.add(key, value, ttl);
    }

    /** See {@link SlabNamespace#replace(byte[], byte[])}. */
    public PutResult replace(byte[] key, byte[] value) {
        return unnamed.replace(key, value);
    }

    /** See {@link SlabNamespace#replace(byte[], byte[], Duration)}. */
    public PutResult replace(byte[] key, byte[] value, Duration ttl) {
        return unnamed.replace(key, value, ttl);
    }

    /** See {@link SlabNamespace#touch}. */
    public boolean touch(byte[] key, Duration ttl) {
        return unnamed.touch(key, ttl);
    }

    /** See {@link SlabNamespace#compareAndSet(byte[], long, byte[])}. */
    public PutResult compareAndSet(byte[] key, long expected, byte[] value) {
        return unnamed.compareAndSet(key, expected, value);
    }

    /** See {@link SlabNamespace#compareAndSet(byte[], long, byte[], Duration)}. */
    public PutResult compareAndSet(byte[] key, long expected, byte[] value, Duration ttl) {
        return unnamed.compareAndSet(key, expected, value, ttl);
    }

    /** See {@link SlabNamespace#remove(byte[])}. */
    public Removal remove(byte[] key) {
        return unnamed.remove(key);
    }

    /** See {@link SlabNamespace#remove(byte[], long)}. */
    public Removal remove(byte[] key, long expected) {
        return unnamed.remove(key, expected);
    }

    /** Clears the unnamed namespace, which the calls of this class use; named ones stay. */
    public void clearUnnamed() {
        unnamed.clear();
    }

    /** Clears the unnamed and every named namespace, one after the other. */
    public void clearAll() {
        checkOpen();
        for (int i = 0; i < shards.namespaces().size(); i++) {
            shards.clear(i, patienceNanos);
        }
    }

    /** See {@link SlabNamespace#getOrLoad(byte[], SlabNamespace.Loader, Duration)}. */
    public <E extends Exception> byte @Nullable [] getOrLoad(byte[] key, SlabNamespace.Loader<E> loader, Duration wait)
            throws E {
        return unnamed.getOrLoad(key, loader, wait);
    }

    /** See {@link SlabNamespace#getOrLoad(byte[], SlabNamespace.Loader, Duration, Duration)}. */
    public <E extends Exception> byte @Nullable [] getOrLoad(
            byte[] key, SlabNamespace.Loader<E> loader, Duration wait, Duration ttl) throws E {
        return unnamed.getOrLoad(key, loader, wait, ttl);
    }

    /** Every value of every namespace, for tools: one that changes meanwhile may be missed or met twice. */
    public void forEach(boolean withValues, Consumer<SlabEntry> visitor) {
        checkOpen();
        try {
            shards.forEach(withValues, visitor);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** The figures to watch. */
    public SlabSummary summary() {
        SlabStats stats = stats();
        return new SlabSummary(
                stats.items(),
                stats.itemBytes(),
                stats.hits(),
                stats.misses(),
                stats.stored(),
                stats.removed(),
                stats.evicted());
    }

    /** All figures, for tools: by slot and by process too. */
    public SlabStats stats() {
        checkOpen();
        try {
            return SlabView.stats(shards);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** Page by page: what it holds and how long it has been with its slot. */
    public List<SlabPage> pages() {
        checkOpen();
        try {
            return SlabView.pages(shards);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** Walks everything and compares it with every counter, shard by shard, under its lock. */
    public AuditReport audit() {
        checkOpen();
        return shards.audit();
    }

    /** Takes back the room of lapsed and cleared values before eviction would come to them. */
    public Duty reclaimDuty() {
        return new ReclaimDuty(path.getFileName() + " reclaim", shards);
    }

    /** How long the calls of this cache wait for the lock, whatever other caches on the same file do. */
    long patienceNanos() {
        return patienceNanos;
    }

    void checkOpen() {
        if (closed) {
            throw HoldfastException.misuse("the cache " + path + " is closed", "open it again");
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        region.close();
    }

    /** How to open a cache; what is not set comes from properties, environment and defaults. */
    public static final class Builder {

        private final Path path;
        private final Settings settings = Settings.ofProcess();
        private final List<Setting<?>> given = new ArrayList<>();
        private Time time = Time.system();
        private Host host = Host.linux();
        private Probe probe = Probe.NONE;
        private int dataPages;

        private Builder(Path path) {
            this.path = SlabFile.named(path);
        }

        /** Length of the whole file. */
        public Builder size(long bytes) {
            return set(SlabSettings.SIZE, bytes);
        }

        /** Instead of a size: so many pages of data. */
        public Builder dataPages(int pages) {
            if (pages < 1) {
                throw HoldfastException.misuse("a cache of " + pages + " data pages", "give it 1 or more");
            }
            dataPages = pages;
            return this;
        }

        public Builder preset(Preset preset) {
            return set(SlabSettings.PRESET, preset);
        }

        /** Only with {@link Preset#SEED}. */
        public Builder policy(Policy policy) {
            return set(SlabSettings.POLICY, policy);
        }

        public Builder pageSize(long bytes) {
            return set(SlabSettings.PAGE_SIZE, bytes);
        }

        /** What a value takes on average: how large the index is made. */
        public Builder averageItem(long bytes) {
            return set(SlabSettings.AVERAGE_ITEM, bytes);
        }

        /** How many parts with a lock of their own the file has: a power of two; 0 to choose it by the size. */
        public Builder shards(int count) {
            return set(SlabSettings.SHARDS, count);
        }

        public Builder busyAfter(Duration wait) {
            return set(SlabSettings.BUSY_AFTER, wait);
        }

        public Builder time(Time time) {
            this.time = time;
            return this;
        }

        Builder host(Host host) {
            this.host = host;
            return this;
        }

        Builder probe(Probe probe) {
            this.probe = probe;
            return this;
        }

        private <T> Builder set(Setting<T> setting, T value) {
            settings.set(setting, value);
            given.add(setting);
            return this;
        }

        /** Opens the file, or creates it. */
        public SlabCache open() {
            SlabLayout wanted = layout();
            SlabCache cache = open(wanted);
            try {
                checkAgrees(wanted, cache.shards.layout);
            } catch (HoldfastException e) {
                cache.close();
                throw e;
            }
            return cache;
        }

        /** Opens the file as it is; GONE if there is none. */
        public SlabCache attach() {
            return open(null);
        }

        private SlabCache open(@Nullable SlabLayout wanted) {
            settings.refuseUnknown("holdfast.slab.", SlabSettings.all());
            long patience = settings.get(SlabSettings.BUSY_AFTER).toNanos();
            return new SlabCache(path, SlabRegion.open(path, wanted, host, time, probe, patience), patience);
        }

        /** What values live by must agree. The size of an existing file is what it is: rolling deploys change it. */
        private void checkAgrees(SlabLayout wanted, SlabLayout found) {
            agree("preset", wanted.preset, found.preset);
            agree("policy", wanted.policy, found.policy);
            if (settings.get(SlabSettings.PAGE_SIZE) != 0) {
                agree("page size", wanted.pageBytes(), found.pageBytes());
            }
            if (wanted.fileBytes() != found.fileBytes()) {
                System.getLogger(SlabCache.class.getName())
                        .log(
                                Level.WARNING,
                                "the cache {0} exists with {1} bytes and stays so; {2} were asked for: to change it,"
                                        + " stop its processes and delete the file",
                                path,
                                String.valueOf(found.fileBytes()),
                                String.valueOf(wanted.fileBytes()));
            }
        }

        private void agree(String what, Object wanted, Object found) {
            if (!wanted.equals(found)) {
                throw HoldfastException.misuse(
                        "the cache " + path + " exists with " + what + " " + found + ", and " + wanted
                                + " was asked for",
                        "ask for what it has, attach to it as it is, or delete it");
            }
        }

        SlabLayout layout() {
            Preset preset = settings.get(SlabSettings.PRESET);
            if (preset != Preset.SEED && given.contains(SlabSettings.POLICY)) {
                throw HoldfastException.misuse(
                        "setting slab.policy is given with preset " + preset, "leave it out, or use preset seed");
            }
            Policy policy = preset == Preset.SEED ? settings.get(SlabSettings.POLICY) : Policy.SLRU;
            long size = settings.get(SlabSettings.SIZE);
            int shards = shards(preset, size);
            int pageShift = pageShift(preset, size, shards);
            int averageItem = given.contains(SlabSettings.AVERAGE_ITEM) || preset == Preset.ADAPTIVE
                    ? settings.get(SlabSettings.AVERAGE_ITEM).intValue()
                    : 128;
            if (dataPages > 0) {
                return SlabLayout.ofPages(Math.ceilDiv(dataPages, shards), preset, policy, pageShift, averageItem)
                        .times(shards);
            }
            int least = preset == Preset.SEED ? 1 : 8;
            SlabLayout smallest = SlabLayout.ofPages(least, preset, policy, pageShift, averageItem)
                    .times(shards);
            if (size < smallest.fileBytes()) {
                throw HoldfastException.misuse(
                        "setting slab.size = " + size + " is too small for preset " + preset + " with pages of "
                                + (1 << pageShift) + " bytes; allowed: " + smallest.fileBytes() + " or more",
                        "set slab.size to " + smallest.fileBytes() + " or more");
            }
            return SlabLayout.fitting(size, preset, policy, pageShift, averageItem, shards);
        }

        private static final long LARGE = 4L << 30;
        private static final int ADAPTIVE_PAGE_SHIFT_LEAST = 14;
        /** Of a shard: with fewer, a page that changes hands is too much of it. */
        private static final int PAGES_WANTED = 256;

        /** In smaller ones large values find too little room: see the decision on shards. */
        private static final long SHARD_LEAST = 64L << 20;

        private static final int SHARDS_USUALLY_MOST = 8;

        private int shards(Preset preset, long size) {
            int shards = settings.get(SlabSettings.SHARDS);
            if (Integer.bitCount(shards) > 1 || (preset == Preset.SEED && shards > 1)) {
                throw HoldfastException.misuse(
                        "setting slab.shards = " + shards + " is not allowed with preset " + preset
                                + (preset == Preset.SEED ? "; allowed: 1" : "; allowed: a power of two up to 64"),
                        "leave it out: it is then chosen by the size");
            }
            if (shards > 0 || preset == Preset.SEED || dataPages > 0) {
                return Math.max(1, shards);
            }
            return (int) Long.highestOneBit(Math.clamp(size / SHARD_LEAST, 1, SHARDS_USUALLY_MOST));
        }

        private int pageShift(Preset preset, long size, int shards) {
            long page = settings.get(SlabSettings.PAGE_SIZE);
            int least = preset == Preset.SEED ? SlotSizes.PAGE_SHIFT_LEAST : ADAPTIVE_PAGE_SHIFT_LEAST;
            if (page == 0) {
                if (preset == Preset.SEED) {
                    return 12;
                }
                int usual = size < LARGE ? 16 : 18;
                while (usual > least && (size / shards) >>> usual < PAGES_WANTED) {
                    usual--;
                }
                return usual;
            }
            int shift = Long.numberOfTrailingZeros(page);
            if (Long.bitCount(page) != 1 || shift < least) {
                throw HoldfastException.misuse(
                        "setting slab.page-size = " + page + " is not allowed with preset " + preset
                                + "; allowed: a power of two, " + (1 << least) + " to "
                                + (1 << SlotSizes.PAGE_SHIFT_MOST),
                        "leave it out, or use " + (1 << (preset == Preset.SEED ? 12 : 16)));
            }
            return shift;
        }
    }
}
