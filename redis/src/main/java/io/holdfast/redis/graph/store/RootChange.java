package io.holdfast.redis.graph.store;

import org.jspecify.annotations.Nullable;

/**
 * What is to become of a root.
 *
 * @param expected the version that the caller saw; of a root that is not there, that of the latest drop of any
 * @param target what it is to name; null drops it
 * @param handed whether the lease that the call names hands its hold on the target over, if it has one
 */
public record RootChange(
        String name, String expected, @Nullable Place target, boolean handed) {}
