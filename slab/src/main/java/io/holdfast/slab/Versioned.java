package io.holdfast.slab;

/** A copy of a value and the version it was stored as; versions of a region are never used twice. */
public record Versioned(byte[] value, long version) {}
