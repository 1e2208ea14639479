package io.holdfast.redis.graph;

/**
 * What dropping a root would free, as counts were while it was looked at. Nothing was written.
 *
 * @param values values that only this root holds, directly or through others
 * @param bytes their bytes, without what Redis needs to keep them
 * @param spared values that the freed ones hold and that stay, since something else holds them, too
 */
public record Preview(String root, long values, long bytes, long spared) {}
