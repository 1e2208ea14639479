package io.holdfast.redis.hold;

import java.util.Locale;

/**
 * What is to become of a claim.
 *
 * @param millis for {@link Verb#RENEW} how long the claim then runs, for {@link Verb#RETRY} and {@link Verb#LATER} the
 *     pause before the next attempt
 * @param reason why it failed, for people: one line
 */
public record Settlement(Verb verb, Claim claim, long millis, String reason) {

    private static final int REASON_MAX = 500;

    /** The verbs of {@code settle.lua}. */
    public enum Verb {
        COMMIT,
        RENEW,
        RETRY,
        LATER,
        BURY;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What became of it. */
    public enum Result {
        DONE,
        /** It was finished before. */
        ALREADY,
        /** Another claim has taken its place. */
        STALE,
        DEAD_LETTER;

        static Result of(Status status) {
            return switch (status) {
                case OK -> DONE;
                case ALREADY -> ALREADY;
                case DEAD -> DEAD_LETTER;
                default -> STALE;
            };
        }
    }

    public Settlement {
        reason = reason.replaceAll("\\s+", " ");
        reason = reason.length() > REASON_MAX ? reason.substring(0, REASON_MAX) : reason;
    }

    /** The effect is done: the thing is gone. */
    public static Settlement commit(Claim claim) {
        return new Settlement(Verb.COMMIT, claim, 0, "");
    }

    /** The handler failed: another attempt after the delay, or a dead letter. */
    public static Settlement retry(Claim claim, long delayMillis, String reason) {
        return new Settlement(Verb.RETRY, claim, delayMillis, reason);
    }

    /** It could not be tried: another attempt after the delay, and nothing counts. */
    public static Settlement later(Claim claim, long delayMillis) {
        return new Settlement(Verb.LATER, claim, delayMillis, "");
    }

    /** The handler failed, and would again: a dead letter at once. */
    public static Settlement bury(Claim claim, String reason) {
        return new Settlement(Verb.BURY, claim, 0, reason);
    }
}
