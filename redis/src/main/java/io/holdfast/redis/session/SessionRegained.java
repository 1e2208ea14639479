package io.holdfast.redis.session;

/**
 * This instance holds a session again that was lost.
 *
 * @param lostEpoch the life in which it was lost
 * @param epoch the life in which it is held now; the same if the session was not closed meanwhile
 * @param opened whether this instance began that life
 */
public record SessionRegained(String id, long lostEpoch, long epoch, boolean opened) {

    /** Whether the session was not closed in between. */
    public boolean unbroken() {
        return lostEpoch == epoch;
    }
}
