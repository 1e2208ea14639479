package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.Time;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.SendWindow;
import io.holdfast.sweep.transfer.SessionKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The way to one worker within one session: gathers batches into frames, waits while the window is full, opens the
 * stream again when it breaks, and gives the worker up when a frame was not acknowledged in time, however much else it
 * says. A worker that was given up stays so for the session; its nodes are built again elsewhere.
 */
final class Outbox {

    private static final int FRAME_BATCHES = 1024;
    private static final Duration LOOK_EVERY = Duration.ofMillis(200);

    private final WorkerPort worker;
    private final SessionKey session;
    private final SendWindow window;
    private final int framePieces;
    private final Duration patience;
    private final Pause pause;
    private final Time time;
    private final ArrayDeque<NodeBatch> gathered = new ArrayDeque<>();
    private int gatheredPieces;
    private WorkerPort.@Nullable Link link;
    private int generation;
    private boolean broken;
    private long triedNanos;
    private volatile String givenUp = "";

    Outbox(
            WorkerPort worker,
            SessionKey session,
            SendWindow window,
            int framePieces,
            Duration patience,
            Pause pause,
            Time time) {
        this.framePieces = framePieces;
        this.worker = worker;
        this.session = session;
        this.window = window;
        this.patience = patience;
        this.pause = pause;
        this.time = time;
    }

    WorkerPort worker() {
        return worker;
    }

    /** Why the worker was given up; empty if it was not. Asked for every batch, so without waiting for who sends. */
    String givenUp() {
        return givenUp;
    }

    synchronized void giveUp(String why) {
        if (givenUp.isEmpty()) {
            givenUp = why;
            gathered.clear();
            closeLink();
            notifyAll();
        }
    }

    synchronized void open() {
        connect();
    }

    private void connect() {
        triedNanos = time.nanoTime();
        closeLink();
        broken = false;
        int mine = ++generation;
        try {
            link = worker.open(session, new WorkerPort.Replies() {
                @Override
                public void reply(FrameReply reply) {
                    replied(mine, reply);
                }

                @Override
                public void broken(HoldfastException why) {
                    lost(mine, why);
                }
            });
            window.all().forEach(this::put);
        } catch (HoldfastException e) {
            lost(mine, e);
        }
    }

    private synchronized void replied(int from, FrameReply reply) {
        if (from != generation || !givenUp.isEmpty()) {
            return;
        }
        try {
            window.reply(reply, time.nanoTime()).forEach(this::put);
        } catch (HoldfastException e) {
            giveUp("" + e.getMessage());
        }
        notifyAll();
    }

    private synchronized void lost(int from, HoldfastException why) {
        if (from == generation) {
            broken = true;
            if (why.category() != Category.RETRY) {
                giveUp("" + why.getMessage());
            }
            notifyAll();
        }
    }

    private void put(Frame frame) {
        WorkerPort.Link to = link;
        if (to == null || broken) {
            return;
        }
        try {
            to.send(frame);
        } catch (HoldfastException e) {
            lost(generation, e);
        }
    }

    private void closeLink() {
        WorkerPort.Link old = link;
        link = null;
        generation++;
        if (old != null) {
            old.close();
        }
    }

    /** Sends a batch, sooner or later; waits for room. Nothing happens if the worker was given up. */
    synchronized void send(NodeBatch batch) throws InterruptedException {
        if (!givenUp.isEmpty()) {
            return;
        }
        gathered.add(batch);
        gatheredPieces += batch.count();
        flush(false);
    }

    /**
     * Makes frames of what is gathered. Waiting lets other scanners in, so what waits stays in the queue: it is taken out
     * only when it is put on the wire, or batches of one node could overtake each other.
     */
    private void flush(boolean all) throws InterruptedException {
        while (givenUp.isEmpty() && isDue(all)) {
            if (window.hasRoom()) {
                put(window.add(next(), time.nanoTime()));
            } else {
                look();
            }
        }
    }

    private boolean isDue(boolean all) {
        return gatheredPieces >= framePieces || gathered.size() >= FRAME_BATCHES || (all && !gathered.isEmpty());
    }

    private List<NodeBatch> next() {
        List<NodeBatch> batches = new ArrayList<>();
        int pieces = 0;
        while (!gathered.isEmpty()
                && batches.size() < FRAME_BATCHES
                && (batches.isEmpty() || pieces + gathered.getFirst().count() <= Frame.FINGERPRINTS_MAX)) {
            NodeBatch batch = gathered.removeFirst();
            batches.add(batch);
            pieces += batch.count();
        }
        gatheredPieces -= pieces;
        return batches;
    }

    /** Waits a little, and does what silence asks for. */
    private void look() throws InterruptedException {
        pause.await(this, LOOK_EVERY);
        long now = time.nanoTime();
        if (window.oldestAge(now).compareTo(patience) > 0) {
            giveUp("it did not acknowledge a frame for " + Setting.text(patience));
        } else if (broken) {
            if (now - triedNanos >= LOOK_EVERY.toNanos()) {
                connect();
            }
        } else {
            window.tick(now).forEach(this::put);
        }
    }

    /** Sends what is left and waits until all of it is acknowledged; false if the worker was given up. */
    synchronized boolean finish() throws InterruptedException {
        flush(true);
        while (givenUp.isEmpty() && !window.isDone()) {
            look();
        }
        closeLink();
        return givenUp.isEmpty();
    }

    synchronized long piecesSent() {
        return window.piecesSent();
    }

    synchronized long piecesAcknowledged() {
        return window.piecesAcknowledged();
    }

    synchronized void close() {
        closeLink();
    }
}
