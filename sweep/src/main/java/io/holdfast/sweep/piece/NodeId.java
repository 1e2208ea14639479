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

    @Override
    public int compareTo(NodeId other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return name;
    }
}
