package io.holdfast.slab;

/** What became of a remove. */
public enum Removal {
    REMOVED,
    ABSENT
}
