package io.holdfast.sweep.piece;

import io.holdfast.HoldfastException;
import java.util.regex.Pattern;

/** A storage node, by the name that the catalogue uses for it. Ordered by name, so that a fleet can be cut in ranges. */
public record NodeId(String name) implements Comparable<NodeId> {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    public NodeId {
        if (!NAME.matcher(name).matches()) {
            throw HoldfastException.misuse(
                    "node name '" + name + "' is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                    "give the node another name");
        }
    }

    /** As a record's own would, but for the time: scans ask for it a million times a second. */
    @Override
    public boolean equals(Object other) {
        return other instanceof NodeId that && name.equals(that.name);
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    @Override
    public int compareTo(NodeId other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return name;
    }
}
