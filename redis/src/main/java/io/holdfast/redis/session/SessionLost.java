package io.holdfast.redis.session;

/** This instance can no longer be sure that it holds a session that it serves: the others may close it any moment. */
public record SessionLost(String id, long epoch) {}
