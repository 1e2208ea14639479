package io.holdfast.sweep.transfer;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.OwnerId;

/**
 * One attempt at some nodes within a cycle. Everything that travels is keyed by it, so that what arrives late, from a
 * manager that has lost the cycle or from an attempt that was given up, finds nothing to change.
 *
 * @param owner whose cycle; owners number theirs independently, on the same workers
 * @param token the fencing number of the manager that has the cycle
 * @param attempt 1, and one more each time that nodes are given to other workers
 */
public record SessionKey(OwnerId owner, long cycle, long token, int attempt) implements Comparable<SessionKey> {

    public SessionKey {
        if (cycle < 1 || token < 1 || attempt < 1) {
            throw HoldfastException.misuse(
                    "a session of cycle " + cycle + ", token " + token + ", attempt " + attempt,
                    "number all three from 1");
        }
    }

    /** Of one owner by token first: a later manager's session is the later one, whatever its cycle. */
    @Override
    public int compareTo(SessionKey other) {
        int byOwner = owner.compareTo(other.owner);
        int byToken = byOwner != 0 ? byOwner : Long.compare(token, other.token);
        int byCycle = byToken != 0 ? byToken : Long.compare(cycle, other.cycle);
        return byCycle != 0 ? byCycle : Integer.compare(attempt, other.attempt);
    }

    /** Whether both belong to the same cycle of the same manager. */
    public boolean sameCycle(SessionKey other) {
        return owner.equals(other.owner) && cycle == other.cycle && token == other.token;
    }

    @Override
    public String toString() {
        return "cycle " + cycle + " of " + owner + ", attempt " + attempt;
    }
}
