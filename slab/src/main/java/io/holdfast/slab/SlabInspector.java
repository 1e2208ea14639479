package io.holdfast.slab;

import io.holdfast.Time;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A look at a cache file that changes nothing: it is mapped for reading, takes no lock and no place among the processes,
 * repairs nothing and deletes nothing. It works while the lock is held by a process that is stopped, on a file of another
 * boot, on one that its processes left damaged, and as often as one likes.
 */
public final class SlabInspector {

    private static final int AUDITS_MOST = 3;

    private final Path path;
    private final SlabFile.Inspected file;
    private final SlabStore store;

    private SlabInspector(Path path, SlabFile.Inspected file) {
        this.path = path;
        this.file = file;
        this.store =
                new SlabStore(file.memory(), file.layout(), file.hashSeed(), file.life(), Time.system(), Probe.NONE, 0);
    }

    /**
     * Maps the file for reading.
     *
     * @throws io.holdfast.HoldfastException GONE if there is none, CORRUPT if it is no cache or its header is damaged
     */
    public static SlabInspector of(Path path) {
        Path named = SlabFile.named(path);
        return new SlabInspector(named, new SlabFile(named, Host.linux()).inspect());
    }

    public Path file() {
        return path;
    }

    /** False for a file of another boot, or copied from another machine: who opens it next replaces it. */
    public boolean isOfThisBoot() {
        return file.ofThisBoot();
    }

    /** The process that holds the lock at this moment. */
    public Optional<LockHolder> lockHolder() {
        long holder = store.memory.acquire(SlabLayout.C_LOCK);
        if (holder == 0) {
            return Optional.empty();
        }
        return Optional.of(new LockHolder(Life.pidOf(holder), file.life().isAlive(holder)));
    }

    /**
     * A process that holds the lock of a cache.
     *
     * @param pid as it is called in its own pid namespace; 0 if a process failed and left the cache to be repaired
     * @param alive whether it still runs; the lock of the dead is taken by the next put, which repairs first
     */
    public record LockHolder(long pid, boolean alive) {}

    public SlabStats stats() {
        try {
            return SlabView.stats(store);
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** See {@link SlabCache#pages}. */
    public List<SlabPage> pages() {
        try {
            return SlabView.pages(store);
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** See {@link SlabCache#forEach}. */
    public void forEach(boolean withValues, Consumer<SlabEntry> visitor) {
        try {
            store.reads.forEach(withValues, visitor);
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** The value under the key; null if there is none, or no such namespace. The empty name is the unnamed one. */
    public @Nullable Versioned get(String namespace, byte[] key) {
        try {
            int number = store.namespaces.find(namespace);
            return number < 0 ? null : store.reads.get(number, key, SlabNamespace.VERSIONED);
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /**
     * Walks everything and compares it with every counter; empty if others wrote meanwhile, three times in a row. Then
     * {@link SlabCache#audit} is the way, which keeps them from writing.
     */
    public Optional<AuditReport> audit() {
        Memory memory = store.memory;
        try {
            for (int i = 0; i < AUDITS_MOST; i++) {
                long holds = memory.acquire(SlabLayout.C_HOLDS);
                boolean held = lockHolder().filter(LockHolder::alive).isPresent();
                AuditReport report = new SlabAudit(store.mutations).run();
                if (!held && memory.acquire(SlabLayout.C_HOLDS) == holds) {
                    return Optional.of(report);
                }
            }
            return Optional.empty();
        } finally {
            Reference.reachabilityFence(store);
        }
    }
}
