package io.holdfast.slab;

import io.holdfast.Time;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The shards of a cache. The hash of a key says which of them has it, so that a call for a key concerns one shard and
 * takes one lock; writers of different shards do not wait for each other. What concerns the whole cache is done shard after
 * shard, and is therefore not of one moment.
 */
final class Shards {

    final SlabLayout layout;
    private final List<SlabStore> all = new ArrayList<>();
    private final SlabStore[] byNumber;

    Shards(List<Memory> memories, SlabLayout layout, long hashSeed, Life life, Time time, Probe probe, long patience) {
        this.layout = layout;
        for (Memory memory : memories) {
            all.add(new SlabStore(memory, memories.getFirst(), layout, hashSeed, life, time, probe, patience));
        }
        this.byNumber = all.toArray(SlabStore[]::new);
    }

    /** The memory of each shard of a file. */
    static List<Memory> cut(MemorySegment file, SlabLayout layout, Function<MemorySegment, Memory> kind) {
        List<Memory> memories = new ArrayList<>();
        for (int i = 0; i < layout.shards; i++) {
            memories.add(kind.apply(file.asSlice(i * layout.size, layout.size)));
        }
        return memories;
    }

    /** Makes zeroed memory empty shards. */
    static void format(List<Memory> memories, SlabLayout layout, long nowMillis) {
        for (int i = 0; i < layout.shards; i++) {
            SlabStore.format(memories.get(i), layout, SlabStore.firstVersion(nowMillis) + i);
        }
    }

    List<SlabStore> all() {
        return all;
    }

    long hash(int namespace, byte[] key) {
        return byNumber[0].mutations.items.hash(namespace, key);
    }

    /** The shard of a key by its hash; lines, heads and tags of the {@link Index} are made of other bits. */
    SlabStore of(long hash) {
        return byNumber[(int) (hash >>> 32) & (byNumber.length - 1)];
    }

    /** See {@link SlabStore#attach}. */
    void attach() {
        int attached = 0;
        try {
            for (; attached < byNumber.length; attached++) {
                byNumber[attached].attach();
            }
        } catch (Throwable t) {
            for (SlabStore store : all.subList(0, attached)) {
                store.detach();
            }
            throw t;
        }
    }

    void detach() {
        all.forEach(SlabStore::detach);
    }

    int findNamespace(String name) {
        return byNumber[0].namespaces.find(name);
    }

    int namespace(String name, long patienceNanos) {
        int found = findNamespace(name);
        return found >= 0 ? found : byNumber[0].createNamespace(name, patienceNanos);
    }

    List<String> namespaces() {
        return byNumber[0].namespaces.names();
    }

    /** If it fails, some shards are cleared and others are not; to be done again. */
    void clear(int namespace, long patienceNanos) {
        all.forEach(store -> store.clear(namespace, patienceNanos));
    }

    AuditReport audit() {
        return AuditReport.of(all.stream().map(SlabStore::audit).toList());
    }

    /** See {@link Reads#forEach}; pages are counted through all shards. */
    void forEach(boolean withValues, Consumer<SlabEntry> visitor) {
        for (int i = 0; i < byNumber.length; i++) {
            int before = i * layout.pages;
            byNumber[i].reads.forEach(withValues, entry -> visitor.accept(entry.pagesLater(before)));
        }
    }
}
