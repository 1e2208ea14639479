package io.holdfast.slab;

import io.holdfast.Time;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
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
    private final Shards shards;

    private SlabInspector(Path path, SlabFile.Inspected file) {
        this.path = path;
        this.file = file;
        this.shards = new Shards(
                Shards.cut(file.segment(), file.layout(), ReadOnlyMemory::new),
                file.layout(),
                file.hashSeed(),
                file.life(),
                Time.system(),
                Probe.NONE,
                0);
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

    /** The processes that hold locks at this moment, at most one for each shard. */
    public List<LockHolder> lockHolders() {
        List<LockHolder> holders = new ArrayList<>();
        for (int i = 0; i < shards.all().size(); i++) {
            long holder = shards.all().get(i).memory.acquire(SlabLayout.C_LOCK);
            if (holder != 0) {
                holders.add(new LockHolder(i, Life.pidOf(holder), file.life().isAlive(holder)));
            }
        }
        return holders;
    }

    /**
     * A process that holds the lock of a shard.
     *
     * @param shard the number of the shard, from 0
     * @param pid as it is called in its own pid namespace; 0 if a process failed and left the shard to be repaired
     * @param alive whether it still runs; the lock of the dead is taken by the next put, which repairs first
     */
    public record LockHolder(int shard, long pid, boolean alive) {}

    public SlabStats stats() {
        try {
            return SlabView.stats(shards);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** See {@link SlabCache#pages}. */
    public List<SlabPage> pages() {
        try {
            return SlabView.pages(shards);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** See {@link SlabCache#forEach}. */
    public void forEach(boolean withValues, Consumer<SlabEntry> visitor) {
        try {
            shards.forEach(withValues, visitor);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /** The value under the key; null if there is none, or no such namespace. The empty name is the unnamed one. */
    public @Nullable Versioned get(String namespace, byte[] key) {
        try {
            int number = shards.findNamespace(namespace);
            if (number < 0) {
                return null;
            }
            long hash = shards.hash(number, key);
            return shards.of(hash).reads.get(hash, number, key, SlabNamespace.VERSIONED);
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    /**
     * Walks everything and compares it with every counter; empty if others wrote to a shard meanwhile, three times in a row.
     * Then {@link SlabCache#audit} is the way, which keeps them from writing.
     */
    public Optional<AuditReport> audit() {
        try {
            List<AuditReport> reports = new ArrayList<>();
            for (SlabStore store : shards.all()) {
                Optional<AuditReport> report = audit(store);
                if (report.isEmpty()) {
                    return report;
                }
                reports.add(report.get());
            }
            return Optional.of(AuditReport.of(reports));
        } finally {
            Reference.reachabilityFence(shards);
        }
    }

    private Optional<AuditReport> audit(SlabStore store) {
        Memory memory = store.memory;
        for (int i = 0; i < AUDITS_MOST; i++) {
            long holds = memory.acquire(SlabLayout.C_HOLDS);
            long holder = memory.acquire(SlabLayout.C_LOCK);
            boolean held = holder != 0 && file.life().isAlive(holder);
            AuditReport report = new SlabAudit(store.mutations).run();
            if (!held && memory.acquire(SlabLayout.C_HOLDS) == holds) {
                return Optional.of(report);
            }
        }
        return Optional.empty();
    }
}
