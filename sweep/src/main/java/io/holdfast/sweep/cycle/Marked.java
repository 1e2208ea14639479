package io.holdfast.sweep.cycle;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Built;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A filter that is built and proved. Its bytes are with those who deliver it.
 *
 * @param attempt in which it was built
 * @param rows how many rows went into it
 * @param live about how many different pieces those are, by the cycle's own estimate
 * @param distinctLeast at least so many are in it
 * @param witnesses pieces that it must answer to; drawn after the digest was fixed
 * @param couriers who have it
 */
public record Marked(
        int attempt,
        long seed,
        String digest,
        long rows,
        long live,
        long distinctLeast,
        Supplier<List<Fingerprint>> witnesses,
        Built built,
        List<Courier> couriers) {

    /** Has the filter, and hands it over to its node. */
    public interface Courier {

        /** For people. */
        String name();

        /** Who that is, should it appear under several names. */
        String identity();

        /** Answers what the node said if it did not take the filter; failed if the courier could not be asked. */
        Heard<Optional<HoldfastException>> deliver(NodeId node, String address, Signed manifest)
                throws InterruptedException;

        /** It failed, and is to build nothing more in this cycle. */
        void dismiss(String why);
    }

    public Marked {
        couriers = List.copyOf(couriers);
    }

    /** What is signed about it. */
    public Manifest manifest(
            OwnerId owner, NodeId node, long cycle, Instant now, Instant cutoff, String incarnation, String keyId) {
        return new Manifest(
                owner,
                node,
                cycle,
                attempt,
                now,
                now.plus(Manifest.VALID_FOR),
                cutoff,
                incarnation,
                rows,
                Math.min(rows, distinctLeast),
                Fingerprint.VERSION,
                LiveFilter.VERSION,
                seed,
                digest,
                witnesses.get(),
                built,
                keyId);
    }
}
