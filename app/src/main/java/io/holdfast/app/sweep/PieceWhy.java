package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.ThingId;
import io.holdfast.app.cli.Answer;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.PieceFate;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.Pieces;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/** {@code holdfast why piece:NODE/ID}: why a piece is still there, or why it is gone. */
public final class PieceWhy {

    private PieceWhy() {}

    /** Answers from the node, and from the catalogue if there is one. */
    public static Answer answer(ThingId piece, List<Path> folders, FleetOption fleet, Optional<Catalogue> catalogue)
            throws Exception {
        if (fleet.isGiven()) {
            try (fleet) {
                return answer(piece, fleet.pieces(piece.space()), catalogue);
            }
        }
        try (OpenNodes nodes = OpenNodes.of(folders)) {
            return answer(piece, nodes.named(piece.space()), catalogue);
        }
    }

    private static Answer answer(ThingId piece, Pieces node, Optional<Catalogue> catalogue) throws Exception {
        PieceId id = PieceId.parse(piece.id(), node.idBytes());
        PieceFate fate = node.why(id);
        Optional<Boolean> known =
                catalogue.isPresent() ? Optional.of(isKnown(catalogue.get(), node.id(), id)) : Optional.empty();
        if (fate.facts().isEmpty() && fate.record().isEmpty() && !known.orElse(false)) {
            throw new HoldfastException(
                    HoldfastException.Category.GONE,
                    piece + " is not here, and no record tells that it ever was",
                    "check the id; records make way when the ledger is full",
                    null);
        }
        String detail = detail(fate, known);
        Answer answer = Answer.ok()
                .field("thing", piece.toString())
                .field("state", state(detail))
                .field("detail", detail)
                .line(piece + " is " + state(detail) + ": " + detail);
        lines(answer, node, fate, known);
        return answer;
    }

    private static boolean isKnown(Catalogue catalogue, NodeId node, PieceId id) throws Exception {
        try (Catalogue.Snapshot snapshot = catalogue.open()) {
            return snapshot.contains(node, id.bytes());
        }
    }

    /** As for every other kind of thing. */
    private static String state(String detail) {
        return switch (detail) {
            case "live", "present", "restored" -> "alive";
            case "spared" -> "doomed";
            default -> "gone";
        };
    }

    /** What becomes of a piece that no catalogue knows, and that is spared as young until then. */
    public static String next(Instant sparedUntil) {
        String chance = " by the next cycle unless it passes that filter by chance";
        return sparedUntil.isAfter(Instant.now())
                ? "spared as young until " + sparedUntil.truncatedTo(ChronoUnit.SECONDS) + ", then trashed" + chance
                : "no longer young since " + sparedUntil.truncatedTo(ChronoUnit.SECONDS) + ", so it is trashed"
                        + chance;
    }

    private static String detail(PieceFate fate, Optional<Boolean> known) {
        boolean live = fate.facts().filter(PieceStore.Facts::isLive).isPresent();
        if (fate.isRestored()) {
            return "restored";
        }
        if (live) {
            return known.map(yes -> yes ? "live" : "spared").orElse("present");
        }
        if (fate.facts().isPresent()) {
            return "trashed";
        }
        return fate.record().isPresent() ? "emptied" : "lost";
    }

    private static void lines(Answer answer, Pieces node, PieceFate fate, Optional<Boolean> known) {
        fate.facts().ifPresent(facts -> {
            answer.field("owner", fate.owner().map(Object::toString).orElse(null))
                    .field("age", facts.age())
                    .field("bytes", facts.bytes())
                    .field("trashedBy", facts.trashedBy().orElse(null));
            if (facts.isLive()) {
                answer.line("on node " + node.id() + " since " + facts.age() + ", " + facts.bytes() + " bytes, owner "
                        + fate.owner().map(Object::toString).orElse("?"));
            } else {
                answer.line("in the trash of cycle " + facts.trashedBy().orElse(0L) + ", " + facts.bytes()
                        + " bytes; a read or 'holdfast sweep restore' brings it back");
            }
            if (facts.isLive() && !known.orElse(true)) {
                answer.line("no catalogue knows it; " + next(fate.sparedUntil()));
            }
        });
        if (known.isPresent()) {
            answer.field("inCatalogue", known.get())
                    .line(known.get() ? "the catalogue knows it: it is live" : "the catalogue does not know it");
        }
        if (known.orElse(false) && fate.facts().isEmpty()) {
            answer.line("it is live and not on the node: it is lost there");
        }
        fate.record()
                .ifPresent(record -> answer.field("record", record.evidence())
                        .line((fate.isRestored() ? "it was trashed and is back: " : "trashed: ") + record.evidence()
                                + ", at " + record.at() + " by " + record.by()));
    }
}
