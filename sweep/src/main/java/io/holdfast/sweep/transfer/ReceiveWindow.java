package io.holdfast.sweep.transfer;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The worker's end of a stream of frames: lets each through once and in order, however often and in whatever order they
 * arrive. What comes too early is kept, up to a bound, and the gap before it is asked for; beyond the bound it is
 * dropped, and asked for later. Not safe for several threads.
 */
public final class ReceiveWindow {

    private final int framesMax;
    private final TreeMap<Long, Frame> early = new TreeMap<>();
    private long applied;

    /** @param framesMax how many frames that came too early are kept */
    public ReceiveWindow(int framesMax) {
        this.framesMax = framesMax;
    }

    /** Takes a frame; answers those that can be applied now, in order. */
    public List<Frame> take(Frame frame) {
        if (frame.number() <= applied) {
            return List.of();
        }
        if (frame.number() > applied + 1) {
            if (early.size() < framesMax) {
                early.putIfAbsent(frame.number(), frame);
            }
            return List.of();
        }
        List<Frame> ready = new ArrayList<>();
        ready.add(frame);
        applied = frame.number();
        while (!early.isEmpty() && early.firstKey() <= applied + 1) {
            Frame next = early.pollFirstEntry().getValue();
            if (next.number() == applied + 1) {
                ready.add(next);
                applied = next.number();
            }
        }
        return ready;
    }

    /** What to answer after a frame: all up to here, and the first gap if there is one. */
    public FrameReply reply() {
        return early.isEmpty()
                ? FrameReply.acknowledge(applied)
                : new FrameReply(applied, applied + 1, early.firstKey() - 1);
    }

    /** How many frames are kept that cannot be applied yet. */
    public int kept() {
        return early.size();
    }
}
