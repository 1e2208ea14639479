package io.holdfast.redis.session;

import io.holdfast.redis.hold.Claim;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The right to close one life of a session, as the handler gets it.
 *
 * <p>The handler's effect happens at least once: if this instance dies after the effect and before the store knows of
 * it, another one closes the same (id, epoch) again, with a higher token. To make it exactly once, let the effect's
 * target remember the epoch it has closed, or refuse a token lower than one it has seen.
 *
 * @param epoch which life of the session; never reused
 * @param token the fencing number; higher than that of any earlier claim of the session
 * @param attempt the number of this attempt, from 1
 * @param evidence why the session has no holder, for people
 * @param lastDisconnect when its last holder released it or lapsed, by the server's clock; null in idle mode
 * @param data the session's data fields
 */
public record SessionClaim(
        String id,
        long epoch,
        long token,
        int attempt,
        String evidence,
        @Nullable Instant lastDisconnect,
        Map<String, String> data) {

    static SessionClaim of(Claim claim) {
        return new SessionClaim(
                claim.id(),
                claim.epoch(),
                claim.token(),
                claim.attempt(),
                claim.evidence(),
                claim.since(),
                claim.data());
    }
}
