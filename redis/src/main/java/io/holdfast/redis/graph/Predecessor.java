package io.holdfast.redis.graph;

import java.util.List;

/**
 * The value that a new one is the next version of, for {@link GraphWriter#put(byte[], List, Predecessor)}.
 *
 * @param children as they were read; where the value has others, it is of no use, and does no harm
 */
public record Predecessor(ValueId id, List<ValueId> children) {

    public Predecessor {
        children = List.copyOf(children);
    }
}
