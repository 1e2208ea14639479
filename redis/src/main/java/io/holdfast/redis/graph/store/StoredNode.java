package io.holdfast.redis.graph.store;

import java.util.List;

/** A node as it is stored: {@link Node#read} understands its bytes. */
public record StoredNode(byte[] bytes, List<Place> children) {}
