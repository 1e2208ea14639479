package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The values of one namespace of a {@link SlabCache}; keys of different namespaces never meet. */
public final class SlabNamespace {

    private static final Reads.Taker<Versioned> VERSIONED = (memory, at, length, version) -> {
        byte[] value = new byte[length];
        memory.read(at, value, 0, length);
        return new Versioned(value, version);
    };
    private static final long LOAD_PAUSE_LEAST = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long LOAD_PAUSE_MOST = TimeUnit.MILLISECONDS.toNanos(5);
    private static final Duration TTL_MOST = Duration.ofDays(36_500);

    private final SlabCache cache;
    private final SlabStore store;
    private final int number;
    private final String name;

    SlabNamespace(SlabCache cache, SlabStore store, int number, String name) {
        this.cache = cache;
        this.store = store;
        this.number = number;
        this.name = name;
    }

    public String name() {
        return name;
    }

    /** A copy of the value last put under the key, or null. Never waits. */
    public byte @Nullable [] get(byte[] key) {
        cache.checkOpen();
        try {
            byte[] value = store.reads.copy(number, key);
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
        try {
            R value = store.reads.get(number, key, taker);
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

    /** Stores the value, evicting others if need be; FULL if that is not enough. */
    public PutResult put(byte[] key, byte[] value) {
        return store(key, value, 0, true, SlabStore.ANY);
    }

    /** As {@link #put(byte[], byte[])}; the value lapses after so long, by the monotonic or the wall clock. */
    public PutResult put(byte[] key, byte[] value, Duration ttl) {
        return store(key, value, nanos(ttl), true, SlabStore.ANY);
    }

    /** Stores the value if there is room without evicting. */
    public PutResult safePut(byte[] key, byte[] value) {
        return store(key, value, 0, false, SlabStore.ANY);
    }

    /**
     * Stores the value if the version under the key is the one expected.
     *
     * @param expected a version that a get or put has told, 0 for "nothing is there"
     */
    public PutResult compareAndSet(byte[] key, long expected, byte[] value) {
        if (expected < 0) {
            throw HoldfastException.misuse(
                    "version " + expected + " is expected; allowed: 0 or more", "use 0 for none");
        }
        return store(key, value, 0, true, expected);
    }

    private PutResult store(byte[] key, byte[] value, long ttlNanos, boolean mayEvict, long expected) {
        cache.checkOpen();
        return store.put(number, key, value, ttlNanos, mayEvict, expected);
    }

    private static long nanos(Duration ttl) {
        if (ttl.isZero() || ttl.isNegative() || ttl.compareTo(TTL_MOST) > 0) {
            throw HoldfastException.misuse("a TTL of " + ttl + "; allowed: above 0, to 36500 days", "set a real TTL");
        }
        return ttl.toNanos();
    }

    public Removal remove(byte[] key) {
        return remove(key, SlabStore.ANY);
    }

    /** Removes the value if it still is of this version. */
    public Removal remove(byte[] key, long expected) {
        cache.checkOpen();
        return store.remove(number, key, expected);
    }

    /** Makes everything stored so far gone, at once and whatever there is; pending loads too. */
    public void clear() {
        cache.checkOpen();
        store.clear(number);
    }

    /**
     * The value under the key, or what the loader brings, stored for the next. On the whole host one thread loads a key;
     * the others wait for it, at most as long as given, and then fail with RETRY. If the key is put or removed while it
     * loads, what the loader brings is returned and not stored. A loader that returns null stores nothing.
     */
    public byte @Nullable [] getOrLoad(byte[] key, Function<? super byte[], byte @Nullable []> loader, Duration wait) {
        long deadline = System.nanoTime() + wait.toNanos();
        long pause = LOAD_PAUSE_LEAST;
        while (true) {
            byte[] value = get(key);
            if (value != null) {
                return value;
            }
            long token = store.beginLoad(number, key);
            if (token != 0) {
                return load(key, loader, token);
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

    private byte @Nullable [] load(byte[] key, Function<? super byte[], byte @Nullable []> loader, long token) {
        byte[] value = null;
        boolean ended = false;
        try {
            // Whoever loaded before may have stored between the look and the load.
            value = get(key);
            if (value != null) {
                return value;
            }
            value = loader.apply(key);
            if (value != null) {
                ended = true;
                storeLoaded(key, value, token);
            }
            return value;
        } finally {
            if (!ended) {
                store.endLoad(number, key, token);
            }
        }
    }

    private void storeLoaded(byte[] key, byte[] value, long token) {
        try {
            store.putLoaded(number, key, value, token);
        } catch (HoldfastException e) {
            if (e.category() != Category.FULL && e.category() != Category.MISUSE) {
                throw e;
            }
            // Too large to cache: the caller wanted the value, and has it.
            store.endLoad(number, key, token);
        }
    }
}
