package io.holdfast.sweep.node;

import io.holdfast.Duty;
import io.holdfast.HolderId;
import io.holdfast.Ledger;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.retain.Manifest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One walk over the pieces of an owner, a folder a step. Examining and trashing are the same walk with the same tests;
 * only the last line differs. The order of the tests is the order of their cost: the filter answers from memory, and
 * only what it does not know is looked up on the disk.
 */
final class RetainWalk implements Duty {

    /** A walk gives up after so many pieces in a row that could not be moved: the disk is full or broken. */
    private static final int FAILURES_MOST = 100;

    private final PieceStore store;
    private final Manifest manifest;
    private final LiveFilter filter;
    private final Instant limit;
    private final Time time;
    private final int piecesPerSecond;
    private final BooleanSupplier voided;
    private final long trashMost;
    private final @Nullable Ledger ledger;
    private final HolderId by;
    private final long[] fingerprint = new long[2];
    private final Map<SpareReason, Long> spared = new EnumMap<>(SpareReason.class);

    private int folder;
    private long examined;
    private long live;
    private long garbage;
    private long garbageBytes;
    private long failed;
    private int failedInARow;
    private @Nullable IOException failure;

    private RetainWalk(
            PieceStore store,
            Manifest manifest,
            LiveFilter filter,
            Instant limit,
            Time time,
            int piecesPerSecond,
            BooleanSupplier voided,
            long trashMost,
            @Nullable Ledger ledger,
            HolderId by) {
        this.store = store;
        this.manifest = manifest;
        this.filter = filter;
        this.limit = limit;
        this.time = time;
        this.piecesPerSecond = piecesPerSecond;
        this.voided = voided;
        this.trashMost = trashMost;
        this.ledger = ledger;
        this.by = by;
    }

    /** A walk that only counts. */
    static RetainWalk examine(
            PieceStore store,
            Manifest manifest,
            LiveFilter filter,
            Instant limit,
            Time time,
            int piecesPerSecond,
            BooleanSupplier voided,
            HolderId by) {
        return new RetainWalk(store, manifest, filter, limit, time, piecesPerSecond, voided, 0, null, by);
    }

    /** A walk that trashes, and never more than the examination found. */
    static RetainWalk trash(
            PieceStore store,
            RetainFile retain,
            LiveFilter filter,
            Time time,
            int piecesPerSecond,
            BooleanSupplier voided,
            Ledger ledger,
            HolderId by) {
        return new RetainWalk(
                store,
                retain.manifest(),
                filter,
                retain.limit(),
                time,
                piecesPerSecond,
                voided,
                retain.wouldTrash(),
                ledger,
                by);
    }

    @Override
    public String name() {
        return "sweep:" + manifest.node() + (ledger == null ? " examine" : " trash");
    }

    boolean isDone() {
        return folder == store.folders() || wasVoided() || failure != null;
    }

    boolean wasVoided() {
        return voided.getAsBoolean();
    }

    /** Walks one folder, and asks for a pause that keeps the walk within its I/O limit. */
    @Override
    public Step step() throws IOException {
        long began = time.nanoTime();
        long before = examined;
        try {
            store.list(manifest.owner(), folder, visitor);
        } catch (GaveUp e) {
            failure = e.cause;
        }
        folder++;
        long done = examined - before;
        if (piecesPerSecond == 0) {
            return Step.again(done);
        }
        Duration due = Duration.ofNanos(done * 1_000_000_000L / piecesPerSecond);
        return Step.restFor(done, due.minusNanos(time.nanoTime() - began));
    }

    private final PieceStore.Visitor visitor = new PieceStore.Visitor() {
        @Override
        public void piece(byte[] id) throws IOException {
            if (wasVoided()) {
                return;
            }
            examined++;
            Fingerprint.put(id, 0, id.length, fingerprint, 0);
            if (filter.mayContain(fingerprint[0], fingerprint[1])) {
                live++;
            } else if (ledger == null) {
                judge(PieceId.wrap(id));
            } else {
                move(PieceId.wrap(id), ledger);
            }
        }

        @Override
        public void unknown(String name) {
            examined++;
            spare(SpareReason.UNKNOWN_KIND);
        }
    };

    private void judge(PieceId id) {
        try {
            var facts = store.look(manifest.owner(), id);
            if (facts.isEmpty() || !facts.get().isLive()) {
                spare(SpareReason.RENEWED);
            } else if (facts.get().age().isAfter(limit)) {
                spare(SpareReason.YOUNG);
            } else {
                garbage++;
                garbageBytes += facts.get().bytes();
            }
        } catch (PieceStore.UnknownKind e) {
            spare(SpareReason.UNKNOWN_KIND);
        } catch (IOException e) {
            spare(SpareReason.AGE_UNKNOWN);
        }
    }

    private void move(PieceId id, Ledger record) throws GaveUp {
        if (garbage == trashMost) {
            spareBeyondTheExamined(id);
            return;
        }
        try {
            PieceStore.Trashed result = store.trash(manifest.owner(), id, manifest.cycle(), limit);
            switch (result.outcome()) {
                case TRASHED -> {
                    garbage++;
                    garbageBytes += result.bytes();
                    append(
                            record,
                            new Reclaimed(
                                    ThingId.Kind.PIECE,
                                    manifest.node().name(),
                                    List.of(id.toString()),
                                    ReclaimReason.SWEPT,
                                    manifest.toString(),
                                    time.instant(),
                                    by));
                }
                case YOUNG -> spare(SpareReason.YOUNG);
                case GONE -> spare(SpareReason.RENEWED);
                case UNKNOWN_KIND -> spare(SpareReason.UNKNOWN_KIND);
            }
            failedInARow = 0;
        } catch (GaveUp e) {
            throw e;
        } catch (IOException e) {
            failed++;
            if (++failedInARow == FAILURES_MOST) {
                throw new GaveUp(e);
            }
        }
    }

    /** A ledger on a full disk ends the walk as a full disk does; what was moved stays moved, and can be restored. */
    private static void append(Ledger record, Reclaimed reclaimed) throws GaveUp {
        try {
            record.append(reclaimed);
        } catch (UncheckedIOException e) {
            throw new GaveUp(new IOException("the ledger cannot be written", e));
        }
    }

    /** Garbage that the examination did not see was touched since; most of it is young by now. */
    private void spareBeyondTheExamined(PieceId id) {
        try {
            boolean young = store.look(manifest.owner(), id)
                    .filter(facts -> facts.age().isAfter(limit))
                    .isPresent();
            spare(young ? SpareReason.YOUNG : SpareReason.RENEWED);
        } catch (PieceStore.UnknownKind e) {
            spare(SpareReason.UNKNOWN_KIND);
        } catch (IOException e) {
            spare(SpareReason.AGE_UNKNOWN);
        }
    }

    private void spare(SpareReason reason) {
        spared.merge(reason, 1L, Long::sum);
    }

    long examined() {
        return examined;
    }

    long live() {
        return live;
    }

    long garbage() {
        return garbage;
    }

    long garbageBytes() {
        return garbageBytes;
    }

    long failed() {
        return failed;
    }

    int folder() {
        return folder;
    }

    @Nullable
    IOException failure() {
        return failure;
    }

    Map<SpareReason, Long> spared() {
        Map<SpareReason, Long> all = new EnumMap<>(spared);
        all.put(SpareReason.LIVE, live);
        return all;
    }

    /** Ends a walk in the middle of a folder. */
    private static final class GaveUp extends IOException {
        private static final long serialVersionUID = 1;
        private final IOException cause;

        GaveUp(IOException cause) {
            super(cause);
            this.cause = cause;
        }
    }
}
