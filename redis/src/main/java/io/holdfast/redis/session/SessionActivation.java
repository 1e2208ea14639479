package io.holdfast.redis.session;

/**
 * This instance begins to serve a session.
 *
 * @param opened whether that begins a new life of the session; otherwise another instance serves it too, or it was in
 *     its grace
 */
public record SessionActivation(String id, long epoch, boolean opened) {}
