package io.holdfast.sweep.manager;

import io.holdfast.sweep.transfer.SendWindow;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.Tally;

/** What the safety of a cycle hangs on. A test replaces one part by a broken one and sees that it is found. */
class Parts {

    Tally tally(Tally.Keys keys) {
        return new Tally(keys);
    }

    SendWindow window(SessionKey key, long bytesMax, long nowNanos) {
        return new SendWindow(key, bytesMax, nowNanos);
    }

    /** How many pieces a frame gathers before it is sent. */
    int framePieces() {
        return 8 * 1024;
    }

    /** The memory for gathering the pieces of so many nodes. */
    long gathering(long given, int nodes) {
        return given;
    }

    Comparison comparison() {
        return new Comparison();
    }
}
