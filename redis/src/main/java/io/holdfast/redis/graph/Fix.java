package io.holdfast.redis.graph;

/**
 * How repair.lua mends one finding.
 *
 * @param word what to do
 * @param id the value that it is about; empty if it is about a lease alone
 * @param field the field to remove, if any
 * @param expected the count of the value as verify saw it; empty if it had none
 * @param fixed the count that it gets; its entry in edges where that is wrong
 * @param lease the lease that it is about, if any
 */
record Fix(String word, byte[] id, byte[] field, byte[] expected, byte[] fixed, byte[] lease) {

    private static final byte[] NOTHING = {};

    static Fix count(byte[] id, byte[] expected, String fixed) {
        return new Fix("count", id, NOTHING, expected, GraphScripts.ascii(fixed), NOTHING);
    }

    static Fix doom(byte[] id, byte[] expected, String fixed) {
        return new Fix("doom", id, NOTHING, expected, GraphScripts.ascii(fixed), NOTHING);
    }

    static Fix uncount(byte[] id, byte[] expected) {
        return new Fix("uncount", id, NOTHING, expected, NOTHING, NOTHING);
    }

    static Fix unedge(byte[] id, byte[] field, byte[] expected) {
        return new Fix("unedge", id, field, expected, NOTHING, NOTHING);
    }

    static Fix part(byte[] id, byte[] expected, byte[] entry) {
        return new Fix("part", id, NOTHING, expected, entry, NOTHING);
    }

    static Fix unchunk(byte[] id, byte[] field, byte[] expected) {
        return new Fix("unchunk", id, field, expected, NOTHING, NOTHING);
    }

    static Fix unhold(byte[] id, byte[] expected, byte[] lease) {
        return new Fix("unhold", id, NOTHING, expected, NOTHING, lease);
    }

    static Fix unlease(byte[] lease) {
        return new Fix("unlease", NOTHING, NOTHING, NOTHING, NOTHING, lease);
    }

    static Fix deadline(byte[] lease) {
        return new Fix("deadline", NOTHING, NOTHING, NOTHING, NOTHING, lease);
    }
}
