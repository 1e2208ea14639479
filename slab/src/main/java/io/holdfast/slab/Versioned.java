package io.holdfast.slab;

/** A copy of a value and the version it was stored as; versions of a region are never used twice. */
@SuppressWarnings("ArrayRecordComponent") // a copy of the caller's own
public record Versioned(byte[] value, long version) {}
