package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.sweep.filter.FilterFormat;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.Manifest;
import java.time.Duration;
import java.time.Instant;

/** Why a node does not take a manifest, and what its verdicts mean, in words. */
final class Refusal {

    private Refusal() {}

    /** No fleet gives out so many numbers; one beyond would leave none for the cycles that follow. */
    private static final long CYCLES_AHEAD_MOST = 1L << 32;

    /** Throws MISUSE unless the manifest is for this node, new and on time: before anything of its filter is taken. */
    static void check(Manifest manifest, NodeId node, long lastCycle, Instant now, NodeBuilder.Config config) {
        if (!manifest.node().equals(node)) {
            throw refuse("it is for node " + manifest.node() + ", this is " + node);
        }
        if (manifest.fingerprintVersion() != Fingerprint.VERSION || manifest.filterVersion() != LiveFilter.VERSION) {
            throw refuse("it was made with fingerprint function " + manifest.fingerprintVersion() + " and filter "
                    + manifest.filterVersion());
        }
        if (manifest.cycle() <= lastCycle) {
            throw refuse("cycle " + manifest.cycle() + " is not newer than the last, " + lastCycle);
        }
        if (manifest.cycle() - lastCycle > CYCLES_AHEAD_MOST) {
            throw refuse("cycle " + manifest.cycle() + " is too far ahead of the last, " + lastCycle);
        }
        if (Duration.between(manifest.issuedAt(), now).abs().compareTo(config.clockSkew()) > 0) {
            throw refuse("it was issued at " + manifest.issuedAt() + ", here it is " + now
                    + "; the clocks may differ by " + Setting.text(config.clockSkew()));
        }
        if (now.isAfter(manifest.goodUntil())) {
            throw refuse("it expired at " + manifest.goodUntil() + ", here it is " + now);
        }
    }

    /** Also throws CORRUPT unless the manifest is of exactly this filter. */
    static void check(
            Manifest manifest, LiveFilter filter, NodeId node, long lastCycle, Instant now, NodeBuilder.Config config) {
        check(manifest, node, lastCycle, now, config);
        if (filter.geometry().bytes() > config.filterBytesMax()) {
            throw refuse(
                    "its filter has " + filter.geometry().bytes() + " bytes; allowed are " + config.filterBytesMax());
        }
        if (!FilterFormat.digestText(filter).equals(manifest.digest())) {
            throw lie("the filter does not match its digest");
        }
        if (filter.seed() != manifest.seed()) {
            throw lie("the filter was made with another seed");
        }
        long missing = manifest.witnesses().stream()
                .filter(witness -> !filter.mayContain(witness))
                .count();
        if (missing > 0) {
            throw lie("the filter lacks " + missing + " of "
                    + manifest.witnesses().size() + " witnesses");
        }
    }

    private static HoldfastException refuse(String why) {
        return HoldfastException.misuse("the node refuses the manifest: " + why, "issue a new cycle for this node");
    }

    /** The manifest is in order and the filter is not what it says: whoever built it is broken, or lies. */
    private static HoldfastException lie(String why) {
        return new HoldfastException(
                Category.CORRUPT,
                "the node refuses the filter: " + why,
                "nothing was trashed; find out what is wrong with its builder",
                null);
    }

    static String detail(Verdict verdict, long garbage, long missing, NodeBuilder.Config config) {
        return switch (verdict) {
            case READY -> garbage == 0 ? "nothing to trash" : "ready";
            case FIRST_CYCLE ->
                "first cycle of this owner here: a dry run; the next one trashes, or an approval of this";
            case OTHER_CATALOGUE ->
                "the catalogue is another one than before (restored backup?): approve if that is right";
            case EMPTY_FILTER -> "the catalogue knows no piece of this node: approve if that is right";
            case BRAKED -> "more than " + config.brakePercent() + " % in 30 days: approve if that is right";
            case TOO_FEW_HITS ->
                missing + " live pieces are not here: check node name and form of ids, or accept the loss as known";
        };
    }
}
