package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The values of one namespace of a {@link SlabCache}; keys of different namespaces never meet. */
public final class SlabNamespace {

    static final Reads.Taker<Versioned> VERSIONED = (memory, at, length, version) -> {
        byte[] value = new byte[length];
        memory.read(at, value, 0, length);
        return new Versioned(value, version);
    };
    private static final long LOAD_PAUSE_LEAST = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long LOAD_PAUSE_MOST = TimeUnit.MILLISECONDS.toNanos(5);
    private static final Duration TTL_MOST = Duration.ofDays(36_500);

    private static final Duration WAIT_MOST = TTL_MOST;
    private static final int TOUCHES_MOST = 64;

    private final SlabCache cache;
    private final Shards shards;
    private final int number;
    private final String name;

    SlabNamespace(SlabCache cache, Shards shards, int number, String name) {
        this.cache = cache;
        this.shards = shards;
        this.number = number;
        this.name = name;
    }

    public String name() {
        return name;
    }

    /** The same namespace with keys and values of these types. */
    public <K, V> TypedNamespace<K, V> typed(SlabCodec<K> keys, SlabCodec<V> values) {
        return new TypedNamespace<>(this, keys, values);
    }

    /** A copy of the value last put under the key, or null. Never waits. */
    public byte @Nullable [] get(byte[] key) {
        cache.checkOpen();
        long hash = shards.hash(number, key);
        SlabStore store = shards.of(hash);
        try {
            byte[] value = store.reads.copy(hash, number, key);
            store.applyTouchesIfPressing();
            return value;
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** As {@link #get}, with the version for {@link #compareAndSet}. */
    public @Nullable Versioned getVersioned(byte[] key) {
        return take(key, VERSIONED);
    }

    private <R> @Nullable R take(byte[] key, Reads.Taker<R> taker) {
        cache.checkOpen();
        long hash = shards.hash(number, key);
        SlabStore store = shards.of(hash);
        try {
            R value = store.reads.get(hash, number, key, taker);
            store.applyTouchesIfPressing();
            return value;
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /**
     * What the function makes of the value, without copying it first. The segment is read-only and its scope ends with
     * the call. The function may see a value that is being replaced, whole or torn, and is then called again: it must
     * have no effects, and its exceptions count only if the value was sound.
     */
    public <R> Optional<R> read(byte[] key, Function<? super MemorySegment, ? extends R> function) {
        return Optional.ofNullable(this.<R>take(key, (memory, at, length, version) -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment value = MemorySegment.ofAddress(memory.address(at, length))
                        .reinterpret(length, arena, null)
                        .asReadOnly();
                return function.apply(value);
            }
        }));
    }

    /** The values under the keys in their order, as {@link #get} would return each: not all of one moment. */
    public List<byte @Nullable []> getAll(List<byte[]> keys) {
        List<byte @Nullable []> values = new ArrayList<>(keys.size());
        keys.forEach(key -> values.add(get(key)));
        return values;
    }

    /** Stores the value, evicting others if need be; FULL if that is not enough. */
    public PutResult put(byte[] key, byte[] value) {
        return store(key, value, 0, true, SlabStore.ANY);
    }

    /** As {@link #put(byte[], byte[])}; the value lapses after so long, by the monotonic or the wall clock. */
    public PutResult put(byte[] key, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), true, SlabStore.ANY);
    }

    /**
     * Puts one value after the other, in the order of the lists. Not atomic: it stops at the first that fails.
     *
     * @return the results, one for each key
     */
    public List<PutResult> putAll(List<byte[]> keys, List<byte[]> values) {
        return putAll(keys, values, 0);
    }

    /** As {@link #putAll(List, List)}; the values lapse after so long. */
    public List<PutResult> putAll(List<byte[]> keys, List<byte[]> values, Duration ttl) {
        return putAll(keys, values, nanos(ttl));
    }

    private List<PutResult> putAll(List<byte[]> keys, List<byte[]> values, long ttlNanos) {
        if (keys.size() != values.size()) {
            throw HoldfastException.misuse(
                    keys.size() + " keys are given with " + values.size() + " values", "give one value for each key");
        }
        List<PutResult> results = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            results.add(store(keys.get(i), values.get(i), ttlNanos, true, SlabStore.ANY));
        }
        return results;
    }

    /** Stores the value if there is room without evicting. */
    public PutResult safePut(byte[] key, byte[] value) {
        return store(key, value, 0, false, SlabStore.ANY);
    }

    /** As {@link #safePut(byte[], byte[])}; the value lapses after so long. */
    public PutResult safePut(byte[] key, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), false, SlabStore.ANY);
    }

    /** Stores the value if nothing is under the key; CONFLICT otherwise. */
    public PutResult add(byte[] key, byte[] value) {
        return store(key, value, 0, true, 0);
    }

    /** As {@link #add(byte[], byte[])}; the value lapses after so long. */
    public PutResult add(byte[] key, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), true, 0);
    }

    /** Stores the value if another is under the key; CONFLICT with version 0 otherwise. */
    public PutResult replace(byte[] key, byte[] value) {
        return store(key, value, 0, true, SlabStore.PRESENT);
    }

    /** As {@link #replace(byte[], byte[])}; the value lapses after so long. */
    public PutResult replace(byte[] key, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), true, SlabStore.PRESENT);
    }

    /**
     * Stores the value if the version under the key is the one expected.
     *
     * @param expected a version that a get or put has told, 0 for "nothing is there"
     */
    public PutResult compareAndSet(byte[] key, long expected, byte[] value) {
        return store(key, value, 0, true, version(expected));
    }

    /** As {@link #compareAndSet(byte[], long, byte[])}; the value lapses after so long. */
    public PutResult compareAndSet(byte[] key, long expected, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), true, version(expected));
    }

    /**
     * Gives the value under the key so much time from now on, more or less than it had; its version changes.
     *
     * @return false if nothing is there
     * @throws HoldfastException RETRY if the lock cannot be had, or the value changes all the time
     */
    public boolean touch(byte[] key, Duration ttl) {
        long ttlNanos = nanos(ttl);
        for (int i = 0; i < TOUCHES_MOST; i++) {
            Versioned found = getVersioned(key);
            if (found == null) {
                return false;
            }
            PutResult result = store(key, found.value(), ttlNanos, true, found.version());
            if (result.stored()) {
                return true;
            }
            if (result.outcome() == PutResult.Outcome.BUSY) {
                throw CriticalSection.busy("touch");
            }
        }
        throw new HoldfastException(
                Category.RETRY, "the value changed " + TOUCHES_MOST + " times while it was touched");
    }

    private static long version(long expected) {
        if (expected < 0) {
            throw HoldfastException.misuse(
                    "version " + expected + " is expected; allowed: 0 or more", "use 0 for none");
        }
        return expected;
    }

    private PutResult store(byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected) {
        cache.checkOpen();
        return put(new Puts.Request(number, key, value, ttlNanos, mayEvict, expected, null));
    }

    private PutResult put(Puts.Request request) {
        long hash = shards.hash(number, request.key());
        return shards.of(hash).put(hash, request, cache.patienceNanos());
    }

    private static long nanos(Duration ttl) {
        if (ttl.isZero() || ttl.isNegative() || ttl.compareTo(TTL_MOST) > 0) {
            throw HoldfastException.misuse("a TTL of " + ttl + "; allowed: above 0, to 36500 days", "set a real TTL");
        }
        return ttl.toNanos();
    }

    /**
     * Removes the value under the key.
     *
     * @throws HoldfastException RETRY if the lock cannot be had within {@code slab.busy-after}: the value is still there
     */
    public Removal remove(byte[] key) {
        return removeIf(key, SlabStore.ANY);
    }

    /** As {@link #remove(byte[])}, if the value still is of this version. */
    public Removal remove(byte[] key, long expected) {
        return removeIf(key, version(expected));
    }

    private Removal removeIf(byte[] key, long expected) {
        cache.checkOpen();
        long hash = shards.hash(number, key);
        return shards.of(hash).remove(hash, number, key, expected, cache.patienceNanos());
    }

    /**
     * Makes everything stored in this namespace before the call gone, however much it is; pending loads too. Shard by shard:
     * a put meanwhile may be cleared or not.
     *
     * @throws HoldfastException RETRY if a lock cannot be had: some of it may be gone; to be called again
     */
    public void clear() {
        cache.checkOpen();
        shards.clear(number, cache.patienceNanos());
    }

    /** Brings the value of a key that is not in the cache. */
    @FunctionalInterface
    public interface Loader<E extends Exception> {
        byte @Nullable [] load(byte[] key) throws E;
    }

    /**
     * The value under the key, or what the loader brings, stored for the next. On the whole host one thread loads a key;
     * the others wait for it, at most as long as given, and then fail with RETRY. If the key is put or removed while it
     * loads, what the loader brings is returned and not stored; so too if the lock cannot be had, or 256 loads are
     * pending: a busy cache costs a load, and never an answer. A loader that returns null stores nothing.
     *
     * @throws E what the loader threw; nothing is stored, and the next caller may load
     */
    public <E extends Exception> byte @Nullable [] getOrLoad(byte[] key, Loader<E> loader, Duration wait) throws E {
        return getOrLoad(key, loader, wait, 0);
    }

    /** As {@link #getOrLoad(byte[], Loader, Duration)}; what the loader brings lapses after {@code ttl}. */
    public <E extends Exception> byte @Nullable [] getOrLoad(byte[] key, Loader<E> loader, Duration wait, Duration ttl)
            throws E {
        return getOrLoad(key, loader, wait, nanos(ttl));
    }

    private <E extends Exception> byte @Nullable [] getOrLoad(
            byte[] key, Loader<E> loader, Duration wait, long ttlNanos) throws E {
        long waitNanos = (wait.compareTo(WAIT_MOST) > 0 ? WAIT_MOST : wait).toNanos();
        long deadline = System.nanoTime() + waitNanos;
        long pause = LOAD_PAUSE_LEAST;
        long hash = shards.hash(number, key);
        while (true) {
            byte[] value = get(key);
            if (value != null) {
                return value;
            }
            SlabStore.LoadStart start = shards.of(hash).beginLoad(hash, number, cache.patienceNanos());
            if (!start.elsewhere()) {
                return load(key, loader, start.lease(), ttlNanos);
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new HoldfastException(
                        Category.RETRY, "the key is still being loaded elsewhere after " + wait.toMillis() + " ms");
            }
            LockSupport.parkNanos(pause);
            if (Thread.currentThread().isInterrupted()) {
                throw new HoldfastException(Category.RETRY, "interrupted while the key is loaded elsewhere");
            }
            pause = Math.min(pause * 2, LOAD_PAUSE_MOST);
        }
    }

    private <E extends Exception> byte @Nullable [] load(
            byte[] key, Loader<E> loader, @Nullable LoadLease given, long ttlNanos) throws E {
        if (given == null) {
            return loader.load(key);
        }
        try (LoadLease lease = given) {
            // Another load may have ended between the look and the lease.
            byte[] value = get(key);
            if (value == null) {
                value = loader.load(key);
                if (value != null) {
                    storeLoaded(key, value, ttlNanos, lease);
                }
            }
            return value;
        }
    }

    /** The caller wanted the value, and has it, also if it cannot be cached. */
    private void storeLoaded(byte[] key, byte[] value, long ttlNanos, LoadLease lease) {
        try {
            put(new Puts.Request(number, key, value, ttlNanos, true, SlabStore.ANY, lease));
        } catch (HoldfastException e) {
            System.getLogger(SlabNamespace.class.getName()).log(Level.DEBUG, "a loaded value was not cached", e);
        }
    }
}
