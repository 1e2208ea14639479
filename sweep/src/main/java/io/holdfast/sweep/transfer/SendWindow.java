package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The manager's end of a stream of frames: numbers them, keeps them until the worker has acknowledged them, and sends
 * again what the worker misses or has been silent about. What is kept is bounded: whoever wants to send more waits until
 * there is {@linkplain #hasRoom room}, which is how a slow worker slows the scan down.
 *
 * <p>It does no I/O and has no thread: it answers which frames to put on the wire. Not safe for several threads.
 */
public class SendWindow {

    private static final Duration FIRST_PATIENCE = Duration.ofSeconds(2);
    private static final Duration GAP_PATIENCE = Duration.ofMillis(50);
    private static final Duration MOST_PATIENCE = Duration.ofSeconds(30);

    private final SessionKey session;
    private final long bytesMax;
    private final ArrayDeque<Frame> unacknowledged = new ArrayDeque<>();
    /** When each of them was first put on the wire. */
    private final ArrayDeque<Long> sentNanos = new ArrayDeque<>();

    private long numbered;
    private long acknowledged;
    private long bytes;
    private long piecesSent;
    private long piecesAcknowledged;
    private long lastProgressNanos;
    private Duration patience = FIRST_PATIENCE;
    private long gapSent;
    private long gapSentNanos;

    public SendWindow(SessionKey session, long bytesMax, long nowNanos) {
        this.session = session;
        this.bytesMax = bytesMax;
        this.lastProgressNanos = nowNanos;
    }

    /** Whether a frame may be added. One frame always may, however small the window is. */
    public boolean hasRoom() {
        return unacknowledged.isEmpty() || bytes < bytesMax;
    }

    /** Numbers the batches as the next frame, which is to be put on the wire now. */
    public Frame add(List<NodeBatch> batches, long nowNanos) {
        if (!hasRoom()) {
            throw HoldfastException.misuse("the window of " + session + " is full", "wait for room");
        }
        if (unacknowledged.isEmpty()) {
            lastProgressNanos = nowNanos;
        }
        Frame frame = new Frame(session, ++numbered, batches);
        unacknowledged.add(frame);
        sentNanos.add(nowNanos);
        bytes += frame.bytes();
        piecesSent += frame.pieces();
        return frame;
    }

    /** Takes a reply; answers which frames to put on the wire again. */
    public List<Frame> reply(FrameReply reply, long nowNanos) {
        if (reply.acknowledged() > numbered) {
            throw HoldfastException.misuse(
                    "frame " + reply.acknowledged() + " was acknowledged and " + numbered + " were sent",
                    "give the session's nodes to another worker");
        }
        while (acknowledged < reply.acknowledged()) {
            Frame done = unacknowledged.remove();
            sentNanos.remove();
            acknowledged = done.number();
            bytes -= done.bytes();
            piecesAcknowledged += done.pieces();
            lastProgressNanos = nowNanos;
            patience = FIRST_PATIENCE;
        }
        return reply.misses() ? missing(reply, nowNanos) : List.of();
    }

    /** What to put on the wire again because the worker has been silent for too long. */
    public List<Frame> tick(long nowNanos) {
        if (unacknowledged.isEmpty() || nowNanos - lastProgressNanos < patience.toNanos()) {
            return List.of();
        }
        lastProgressNanos = nowNanos;
        patience = patience.multipliedBy(2).compareTo(MOST_PATIENCE) < 0 ? patience.multipliedBy(2) : MOST_PATIENCE;
        return List.of(unacknowledged.getFirst(), unacknowledged.getLast());
    }

    /** For how long the oldest frame that is not acknowledged has been under way. */
    public Duration oldestAge(long nowNanos) {
        Long sent = sentNanos.peek();
        return sent == null ? Duration.ZERO : Duration.ofNanos(nowNanos - sent);
    }

    /** Everything that is not acknowledged, for a new connection to the same worker. */
    public List<Frame> all() {
        return List.copyOf(unacknowledged);
    }

    /** Each frame that arrives behind a gap asks for the gap; it is sent once, and again after a while. */
    private List<Frame> missing(FrameReply reply, long nowNanos) {
        if (reply.missingFrom() == gapSent && nowNanos - gapSentNanos < GAP_PATIENCE.toNanos()) {
            return List.of();
        }
        gapSent = reply.missingFrom();
        gapSentNanos = nowNanos;
        return range(reply.missingFrom(), reply.missingTo());
    }

    private List<Frame> range(long from, long to) {
        List<Frame> wanted = new ArrayList<>();
        for (Frame frame : unacknowledged) {
            if (frame.number() >= from && frame.number() <= to) {
                wanted.add(frame);
            }
        }
        return wanted;
    }

    public boolean isDone() {
        return unacknowledged.isEmpty();
    }

    /** What is kept for sending it again. */
    public long bytes() {
        return bytes;
    }

    public long piecesSent() {
        return piecesSent;
    }

    public long piecesAcknowledged() {
        return piecesAcknowledged;
    }
}
