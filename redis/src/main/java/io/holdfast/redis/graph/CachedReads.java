package io.holdfast.redis.graph;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The reads of one snapshot, through the near cache if there is one. The cache answers only for what the hold surely keeps:
 * the lease is valid, and the id is the target or was reached from it by way of children. For any other id the cache may
 * have the bytes of a value that is long reclaimed, so Redis is asked.
 *
 * <p>Lists of children are cached as well: who walks a cached tree needs Redis for nothing but the lease.
 */
final class CachedReads {

    private static final int COVERED_MAX = 200_000;
    private static final byte[] VALUE = {'v'};
    private static final byte[] EDGES = {'e'};

    private final ValueReader reader;
    private final @Nullable ValueCache cache;
    private final byte[] incarnation;
    private final Supplier<GraphLease> lease;
    private final Set<ValueId> covered = ConcurrentHashMap.newKeySet();

    CachedReads(
            ValueReader reader,
            @Nullable ValueCache cache,
            String incarnation,
            ValueId target,
            Supplier<GraphLease> lease) {
        this.reader = reader;
        this.cache = cache;
        this.incarnation = GraphScripts.ascii(incarnation);
        this.lease = lease;
        covers(target);
    }

    /** The id was reached from the target. */
    void covers(ValueId id) {
        if (cache != null && covered.size() < COVERED_MAX) {
            covered.add(id);
        }
    }

    byte[] get(ValueId id) {
        reader.check(id);
        byte[] cached = cached(VALUE, id);
        if (cached != null) {
            return cached;
        }
        byte[] value = reader.find(id).orElseThrow(() -> reader.gone(id));
        keep(VALUE, id, value);
        return value;
    }

    Map<ValueId, byte[]> getAll(List<ValueId> ids) {
        Map<ValueId, byte[]> found = new LinkedHashMap<>();
        List<ValueId> asked = new ArrayList<>();
        for (ValueId id : ids) {
            reader.check(id);
            byte[] cached = cached(VALUE, id);
            if (cached != null) {
                found.put(id, cached);
            } else {
                asked.add(id);
            }
        }
        Map<ValueId, byte[]> read = reader.findAll(asked);
        Map<ValueId, byte[]> inOrder = new LinkedHashMap<>();
        for (ValueId id : ids) {
            byte[] value = found.containsKey(id) ? found.get(id) : read.get(id);
            if (value == null) {
                throw reader.gone(id);
            }
            if (read.containsKey(id)) {
                keep(VALUE, id, value);
            }
            inOrder.put(id, value);
        }
        return inOrder;
    }

    List<ValueId> children(ValueId id) {
        reader.check(id);
        byte[] cached = cached(EDGES, id);
        List<ValueId> children = cached == null ? reader.children(id) : reader.unpack(cached);
        if (cached == null) {
            keep(EDGES, id, PutRequest.pack(children));
        }
        if (covered.contains(id)) {
            children.forEach(this::covers);
        }
        return children;
    }

    private byte @Nullable [] cached(byte[] what, ValueId id) {
        return mayUse(id) ? cache().get(key(what, id)) : null;
    }

    /** Only what was read while the value was surely there; else the children of a value that is gone would be none. */
    private void keep(byte[] what, ValueId id, byte[] bytes) {
        if (mayUse(id)) {
            cache().put(key(what, id), bytes);
        }
    }

    private boolean mayUse(ValueId id) {
        return cache != null && covered.contains(id) && lease.get().isValid();
    }

    private ValueCache cache() {
        if (cache == null) {
            throw new IllegalStateException("there is no cache");
        }
        return cache;
    }

    private byte[] key(byte[] what, ValueId id) {
        return ByteBuffer.allocate(what.length + incarnation.length + id.width())
                .put(what)
                .put(incarnation)
                .put(id.raw())
                .array();
    }
}
