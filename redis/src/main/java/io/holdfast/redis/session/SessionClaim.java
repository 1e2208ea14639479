package io.holdfast.redis.session;

import java.util.Map;

/**
 * The right to close one life of a session, as the handler gets it.
 *
 * <p>The handler's effect happens at least once: if this instance dies after the effect and before the store knows of
 * it, another one closes the same (id, epoch) again, with a higher token. To make it exactly once, let the effect's
 * target remember the epoch it has closed, or refuse a token lower than one it has seen.
 *
 * @param epoch which life of the session; never reused
 * @param token the fencing number; higher than that of any earlier claim of the session
 * @param attempt the how-manieth attempt this is, from 1
 * @param evidence why nobody serves the session any more, for people
 * @param data the session's data fields
 */
public record SessionClaim(String id, long epoch, long token, int attempt, String evidence, Map<String, String> data) {}
