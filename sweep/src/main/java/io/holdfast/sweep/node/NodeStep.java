package io.holdfast.sweep.node;

import java.io.IOException;

/**
 * The points between two changes of the disk. A test stops a node at any of them, by killing its process or by failing
 * the step, and looks at what is left.
 */
enum NodeStep {
    PUT_BEGUN,
    PUT_TEMP_WRITTEN,
    PUT_TEMP_SYNCED,
    PUT_MOVED,
    PUT_DONE,
    PUT_AGE_RENEWED,
    TRASH_PLANNED,
    TRASH_BEGUN,
    TRASH_PIECE,
    TRASH_MOVED,
    TRASH_DONE,
    RESTORE_VOIDED,
    RESTORE_AGE_RENEWED,
    RESTORE_MOVED,
    RESTORE_DONE,
    EMPTY_BEGUN,
    EMPTY_PIECE,
    EMPTY_REMOVED,
    EMPTY_DONE,
    STATE_WRITTEN,
    STATE_MOVED;

    /** Told of every step that is reached. */
    @FunctionalInterface
    interface Watch {
        void reached(NodeStep step) throws IOException;

        Watch NONE = step -> {};
    }
}
