package io.holdfast.sweep.node;

import io.holdfast.Time;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Pieces in memory, for simulations: they outlive the node that is killed, as a disk does. One owner. */
public final class MemoryPieceStore implements PieceStore {

    private static final int FOLDERS = 4;

    private final OwnerId owner;
    private final int idBytes;
    private final Time time;
    private final Runnable beforeTrash;
    private final Map<PieceId, Instant> live = new TreeMap<>();
    private final TreeMap<Long, TreeMap<PieceId, Instant>> trash = new TreeMap<>();

    /** @param beforeTrash called before each piece that is trashed; may throw what kills the node */
    public MemoryPieceStore(OwnerId owner, int idBytes, Time time, Runnable beforeTrash) {
        this.owner = owner;
        this.idBytes = idBytes;
        this.time = time;
        this.beforeTrash = beforeTrash;
    }

    public boolean hasLive(PieceId id) {
        return live.containsKey(id);
    }

    public boolean hasTrashed(PieceId id) {
        return trash.values().stream().anyMatch(cycle -> cycle.containsKey(id));
    }

    @Override
    public int idBytes() {
        return idBytes;
    }

    @Override
    public Put put(OwnerId of, PieceId id, InputStream bytes) {
        boolean was = live.put(id, time.instant()) != null;
        boolean back = trash.values().stream().anyMatch(cycle -> cycle.remove(id) != null);
        return was ? Put.ALREADY : back ? Put.RESTORED : Put.STORED;
    }

    @Override
    public boolean renew(OwnerId of, PieceId id) {
        boolean here = live.containsKey(id) || trash.values().stream().anyMatch(cycle -> cycle.remove(id) != null);
        if (here) {
            live.put(id, time.instant());
        }
        return here;
    }

    @Override
    public Optional<InputStream> get(OwnerId of, PieceId id) {
        return live.containsKey(id) ? Optional.of(new ByteArrayInputStream(id.bytes())) : Optional.empty();
    }

    @Override
    public boolean delete(OwnerId of, PieceId id) {
        return live.remove(id) != null;
    }

    @Override
    public SortedSet<OwnerId> owners() {
        return new TreeSet<>(List.of(owner));
    }

    @Override
    public int folders() {
        return FOLDERS;
    }

    private static boolean in(PieceId id, int folder) {
        return (id.bytes()[0] & (FOLDERS - 1)) == folder;
    }

    @Override
    public void list(OwnerId of, int folder, Visitor visitor) throws IOException {
        for (PieceId id : List.copyOf(live.keySet())) {
            if (in(id, folder)) {
                visitor.piece(id.bytes());
            }
        }
    }

    @Override
    public Optional<Facts> look(OwnerId of, PieceId id) {
        Instant age = live.get(id);
        if (age != null) {
            return Optional.of(new Facts(age, id.length(), Optional.empty()));
        }
        for (var cycle : trash.entrySet()) {
            Instant trashed = cycle.getValue().get(id);
            if (trashed != null) {
                return Optional.of(new Facts(trashed, id.length(), Optional.of(cycle.getKey())));
            }
        }
        return Optional.empty();
    }

    @Override
    public Trashed trash(OwnerId of, PieceId id, long cycle, Instant notAfter) {
        beforeTrash.run();
        Instant age = live.get(id);
        if (age == null) {
            return new Trashed(Trash.GONE, 0);
        }
        if (age.isAfter(notAfter)) {
            return new Trashed(Trash.YOUNG, 0);
        }
        live.remove(id);
        trash.computeIfAbsent(cycle, c -> new TreeMap<>()).put(id, age);
        return new Trashed(Trash.TRASHED, id.length());
    }

    @Override
    public boolean restore(OwnerId of, PieceId id, long cycle) {
        TreeMap<PieceId, Instant> inCycle = trash.get(cycle);
        if (inCycle == null || live.containsKey(id) || inCycle.remove(id) == null) {
            return false;
        }
        live.put(id, time.instant());
        return true;
    }

    @Override
    public SortedSet<Long> trashCycles(OwnerId of) {
        return new TreeSet<>(trash.keySet());
    }

    @Override
    public void listTrash(OwnerId of, long cycle, int folder, Visitor visitor) throws IOException {
        for (PieceId id : List.copyOf(trash.getOrDefault(cycle, new TreeMap<>()).keySet())) {
            if (in(id, folder)) {
                visitor.piece(id.bytes());
            }
        }
    }

    @Override
    public boolean empty(OwnerId of, PieceId id, long cycle) {
        return trash.getOrDefault(cycle, new TreeMap<>()).remove(id) != null;
    }

    @Override
    public void dropCycle(OwnerId of, long cycle) {
        trash.remove(cycle);
    }

    @Override
    public void close() {}
}
