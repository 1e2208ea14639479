package io.holdfast;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The answer to "why is this still there?" and to "why is it gone?", the same for every kind of thing: {@code holdfast
 * why} prints it.
 */
public sealed interface Why {

    /** What was asked about. */
    ThingId thing();

    /**
     * It is there since something holds it.
     *
     * @param detail what it is now, for people
     * @param chain the shortest way up: first who holds the thing, then who holds that, last what nobody need hold (a root,
     *     a lease); empty if the thing is such itself
     */
    record Alive(ThingId thing, String detail, List<Holder> chain) implements Why {
        public Alive {
            chain = List.copyOf(chain);
        }
    }

    /** It is still there, but nothing holds it: it is about to be reclaimed. */
    record Doomed(ThingId thing, String detail) implements Why {}

    /** It was reclaimed, and the ledger says why. */
    record Gone(ThingId thing, Reclaimed record) implements Why {}

    /** It is not there and the ledger has no record: it never was, or the record made way for newer ones. */
    record Unknown(ThingId thing, String detail) implements Why {}

    /**
     * One link of a chain.
     *
     * @param name who holds: another thing, or the holder of a lease
     * @param deadline when the hold lapses unless it is renewed; empty if it stays until it is given up
     */
    record Holder(String name, Optional<Instant> deadline) {}
}
