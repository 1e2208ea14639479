package io.holdfast.app.why;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Ledger;
import io.holdfast.Reclaimed;
import io.holdfast.Setting;
import io.holdfast.ThingId;
import io.holdfast.Why;
import io.holdfast.app.sweep.PieceWhy;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateView;
import io.holdfast.redis.graph.GraphProgress;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.HoldView.Life;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.PieceFate;
import io.holdfast.sweep.node.PieceStore;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Answers {@code why} for every kind of thing, each from where it is kept: alive, with the chain of holders and their
 * deadlines; doomed; gone, with the record; or unknown. It makes nothing and changes nothing.
 */
public final class Whys {

    private final Holdfast holdfast;
    private final List<StorageNode> nodes = new ArrayList<>();
    private @Nullable Catalogue catalogue;
    private GraphProgress progress = (phase, done, total) -> {};

    public Whys(Holdfast holdfast) {
        this.holdfast = holdfast;
    }

    /** The storage nodes to ask about pieces. */
    public Whys nodes(Collection<StorageNode> some) {
        nodes.addAll(some);
        return this;
    }

    /** The catalogue to ask about pieces. */
    public Whys catalogue(Catalogue known) {
        catalogue = known;
        return this;
    }

    public Whys progress(GraphProgress listener) {
        progress = listener;
        return this;
    }

    public Why ask(String thing) throws Exception {
        return ask(ThingId.parse(thing));
    }

    public Why ask(ThingId thing) throws Exception {
        return switch (thing.kind()) {
            case VALUE, ROOT, LEASE, GRAPH -> ofGraph(thing);
            case SESSION -> ofHolds(thing, id -> "");
            case AGGREGATE -> ofHolds(thing, this::gathered);
            case PIECE -> ofPiece(thing);
        };
    }

    private Why ofGraph(ThingId thing) {
        if (ValueGraph.existing(holdfast.link(), thing.space()).isEmpty()) {
            return ValueGraph.whyGone(holdfast.link(), thing);
        }
        ValueGraph graph = holdfast.graph(thing.space());
        return switch (thing.kind()) {
            case VALUE -> graph.inspect().why(ValueId.parse(thing.id()), progress);
            case ROOT -> graph.inspect().whyRoot(thing.id());
            case LEASE -> graph.inspect().whyLease(thing.id());
            default ->
                graph.incarnation().equals(thing.id())
                        ? new Why.Alive(thing, "it stays until it is destroyed", List.of())
                        : ValueGraph.whyGone(holdfast.link(), thing);
        };
    }

    /** What the open epoch of an aggregate has gathered. */
    private String gathered(ThingId aggregate) {
        return AggregateView.find(holdfast.link(), aggregate.space()).stream()
                .flatMap(view -> view.show(aggregate.id()).stream())
                .findFirst()
                .map(epoch -> ", " + epoch.updates() + " updates in "
                        + epoch.parts().size() + " parts"
                        + (epoch.endsInMillis() > 0
                                ? ", its hard window ends in " + Setting.text(Duration.ofMillis(epoch.endsInMillis()))
                                : ""))
                .orElse("");
    }

    private Why ofHolds(ThingId thing, Function<ThingId, String> more) {
        Optional<HoldView> found = HoldView.find(holdfast.link(), thing.kind(), thing.space());
        if (found.isEmpty()) {
            return new Why.Unknown(
                    thing, "there are no " + thing.kind().word() + "s '" + thing.space() + "' at " + holdfast.where());
        }
        HoldView view = found.get();
        List<Life> lives = view.show(thing.id());
        if (lives.isEmpty()) {
            return gone(thing, view.ledger(thing.id()));
        }
        Life life = lives.getFirst();
        String detail = "epoch " + life.epoch() + ", " + detail(thing, life) + more.apply(thing);
        if (life.state() != HoldView.State.LIVE) {
            return new Why.Doomed(thing, detail);
        }
        Instant now = Instant.now();
        return new Why.Alive(
                thing,
                detail,
                life.holders().stream()
                        .map(holder -> new Why.Holder(holder.name(), Optional.of(now.plusMillis(holder.leaseMillis()))))
                        .toList());
    }

    private static String detail(ThingId thing, Life life) {
        boolean flushes = thing.kind() == ThingId.Kind.AGGREGATE;
        return switch (life.state()) {
            case LIVE -> "held by " + life.holders().size() + (life.holders().size() == 1 ? " instance" : " instances");
            case GRACE -> "held by nobody, due in " + life.dueInMillis() + " ms: " + life.evidence();
            case CLOSING ->
                (flushes ? "being flushed" : "being closed") + ", attempt " + life.attempts() + " by " + life.claimer()
                        + ": " + life.evidence();
            case DEAD_LETTER ->
                "a dead letter: " + (flushes ? "flushing" : "closing") + " it failed " + life.attempts() + " times: "
                        + life.evidence();
        };
    }

    private static Why gone(ThingId thing, Ledger ledger) {
        Optional<Reclaimed> record = ledger.find(thing);
        return record.isPresent()
                ? new Why.Gone(thing, record.get())
                : new Why.Unknown(
                        thing,
                        "it is not there and the ledger has no record of it: it never was, or the record is old");
    }

    private Why ofPiece(ThingId thing) throws Exception {
        StorageNode node = nodes.stream()
                .filter(it -> it.id().name().equals(thing.space()))
                .findFirst()
                .orElseThrow(() -> new HoldfastException(
                        Category.GONE,
                        "node " + thing.space() + " is none of "
                                + nodes.stream().map(StorageNode::id).toList(),
                        "name its folder with --nodes",
                        null));
        PieceId id = PieceId.parse(thing.id(), node.idBytes());
        PieceFate fate = node.why(id);
        Optional<PieceStore.Facts> facts = fate.facts();
        if (facts.isPresent() && facts.get().isLive()) {
            return livePiece(thing, node, id, fate, facts.get());
        }
        if (fate.record().isPresent()) {
            return new Why.Gone(thing, fate.record().get());
        }
        if (facts.isPresent()) {
            return new Why.Doomed(
                    thing,
                    "in the trash of cycle " + facts.get().trashedBy().orElse(0L)
                            + "; a read or 'holdfast sweep restore' brings it back");
        }
        return new Why.Unknown(thing, "it is not on the node, and no record tells that it ever was");
    }

    private Why livePiece(ThingId thing, StorageNode node, PieceId id, PieceFate fate, PieceStore.Facts facts)
            throws Exception {
        String detail = "on node " + node.id() + " since " + facts.age().truncatedTo(ChronoUnit.SECONDS) + ", "
                + facts.bytes() + " bytes, owner "
                + fate.owner().map(Object::toString).orElse("?")
                + (fate.isRestored() ? "; it was trashed once and is back" : "");
        if (catalogue == null) {
            return new Why.Alive(thing, detail + "; no catalogue was asked", List.of());
        }
        List<Why.Holder> chain = holders(catalogue, node.id(), id);
        return chain.isEmpty()
                ? new Why.Doomed(thing, "the catalogue does not know it; " + PieceWhy.next(fate.sparedUntil()))
                : new Why.Alive(thing, detail, chain);
    }

    /** Who keeps a piece: of a graph the value that names it and all the way up, otherwise the catalogue. */
    private List<Why.Holder> holders(Catalogue known, NodeId node, PieceId id) throws Exception {
        if (known instanceof GraphCatalogue graph) {
            Optional<ValueId> namer = graph.namer(node, id.bytes());
            if (namer.isEmpty()) {
                return List.of();
            }
            List<Why.Holder> chain = new ArrayList<>();
            chain.add(new Why.Holder("value:" + graph.graph().name() + "/" + namer.get(), Optional.empty()));
            if (graph.graph().inspect().why(namer.get(), progress) instanceof Why.Alive alive) {
                chain.addAll(alive.chain());
            }
            return chain;
        }
        try (Catalogue.Snapshot snapshot = known.open()) {
            return snapshot.contains(node, id.bytes())
                    ? List.of(new Why.Holder("catalogue " + known.owner(), Optional.empty()))
                    : List.of();
        }
    }
}
