package io.holdfast.slab;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A {@link SlabNamespace} whose keys and values have types. What a codec throws goes to the caller; while a value is loaded
 * the next caller may then load.
 */
public final class TypedNamespace<K, V> {

    private final SlabNamespace namespace;
    private final SlabCodec<K> keys;
    private final SlabCodec<V> values;

    TypedNamespace(SlabNamespace namespace, SlabCodec<K> keys, SlabCodec<V> values) {
        this.namespace = namespace;
        this.keys = keys;
        this.values = values;
    }

    /** The values as bytes, for the calls that are not here. */
    public SlabNamespace bytes() {
        return namespace;
    }

    /** See {@link SlabNamespace#get}. */
    public Optional<V> get(K key) {
        byte[] found = namespace.get(keys.encode(key));
        return found == null ? Optional.empty() : Optional.of(values.decode(found));
    }

    /** Those of the keys that are there, in the order of the keys; not all of one moment. */
    public Map<K, V> getAll(Collection<? extends K> wanted) {
        Map<K, V> found = new LinkedHashMap<>();
        for (K key : wanted) {
            get(key).ifPresent(value -> found.put(key, value));
        }
        return found;
    }

    /** See {@link SlabNamespace#put(byte[], byte[])}. */
    public PutResult put(K key, V value) {
        return namespace.put(keys.encode(key), values.encode(value));
    }

    /** See {@link SlabNamespace#put(byte[], byte[], Duration)}. */
    public PutResult put(K key, V value, Duration ttl) {
        return namespace.put(keys.encode(key), values.encode(value), ttl);
    }

    /** Puts one after the other; stops at the first that fails. Returns how many were stored. */
    public int putAll(Map<? extends K, ? extends V> entries) {
        int stored = 0;
        for (Map.Entry<? extends K, ? extends V> entry : entries.entrySet()) {
            stored += put(entry.getKey(), entry.getValue()).stored() ? 1 : 0;
        }
        return stored;
    }

    /** See {@link SlabNamespace#add(byte[], byte[])}. */
    public PutResult add(K key, V value) {
        return namespace.add(keys.encode(key), values.encode(value));
    }

    /** See {@link SlabNamespace#replace(byte[], byte[])}. */
    public PutResult replace(K key, V value) {
        return namespace.replace(keys.encode(key), values.encode(value));
    }

    /** See {@link SlabNamespace#touch}. */
    public boolean touch(K key, Duration ttl) {
        return namespace.touch(keys.encode(key), ttl);
    }

    /** See {@link SlabNamespace#remove(byte[])}. */
    public Removal remove(K key) {
        return namespace.remove(keys.encode(key));
    }

    /** See {@link SlabNamespace#clear}. */
    public void clear() {
        namespace.clear();
    }

    /** Brings the value of a key that is not in the cache; null if there is none. */
    @FunctionalInterface
    public interface Loader<K, V, E extends Exception> {
        @Nullable
        V load(K key) throws E;
    }

    /** See {@link SlabNamespace#getOrLoad(byte[], SlabNamespace.Loader, Duration)}. */
    public <E extends Exception> Optional<V> getOrLoad(K key, Loader<K, V, E> loader, Duration wait) throws E {
        byte[] found = namespace.getOrLoad(keys.encode(key), bytes -> encoded(key, loader), wait);
        return found == null ? Optional.empty() : Optional.of(values.decode(found));
    }

    /** See {@link SlabNamespace#getOrLoad(byte[], SlabNamespace.Loader, Duration, Duration)}. */
    public <E extends Exception> Optional<V> getOrLoad(K key, Loader<K, V, E> loader, Duration wait, Duration ttl)
            throws E {
        byte[] found = namespace.getOrLoad(keys.encode(key), bytes -> encoded(key, loader), wait, ttl);
        return found == null ? Optional.empty() : Optional.of(values.decode(found));
    }

    private <E extends Exception> byte @Nullable [] encoded(K key, Loader<K, V, E> loader) throws E {
        V loaded = loader.load(key);
        return loaded == null ? null : values.encode(loaded);
    }
}
