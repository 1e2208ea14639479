package io.holdfast.app.wiring;

import io.holdfast.redis.graph.GraphMark;
import io.holdfast.redis.graph.GraphProgress;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/**
 * A value graph as a catalogue: a piece is live as long as a value names it.
 *
 * <p>{@link #open} reads all values once, under a leased mark that pauses freeing, and keeps the names in a file of its own:
 * so freeing pauses no longer than the reading takes, and the view stays as it is for every range, the counts and every
 * repeated scan. A mark that lapsed, a graph that was made anew and a store that was replaced abort the cycle, the last
 * two also when that happens after the reading.
 *
 * <p>The view's incarnation names the graph's life and the server: after a fail-over, which may bring an earlier state of
 * the graph back, the nodes wait for an operator once.
 */
public final class GraphCatalogue implements Catalogue {

    private static final GraphProgress QUIETLY = (phase, done, total) -> {};

    private final ValueGraph graph;
    private final OwnerId owner;
    private final PieceNames names;

    private GraphCatalogue(ValueGraph graph, OwnerId owner, PieceNames names) {
        this.graph = graph;
        this.owner = owner;
        this.names = names;
    }

    /** The pieces that values in the form of {@link PieceLeaf} name; their owner has the name of the graph. */
    public static GraphCatalogue of(ValueGraph graph) {
        return of(graph, new OwnerId(graph.name()), PieceLeaf.names());
    }

    public static GraphCatalogue of(ValueGraph graph, OwnerId owner, PieceNames names) {
        return new GraphCatalogue(graph, owner, names);
    }

    @Override
    public OwnerId owner() {
        return owner;
    }

    public ValueGraph graph() {
        return graph;
    }

    @Override
    public Snapshot open() throws Exception {
        PieceSpool spool = new PieceSpool();
        try (GraphMark mark = graph.mark()) {
            long takenAt = mark.takenAt().toEpochMilli();
            mark.scan(
                    (id, value) -> {
                        long made = id.madeAt().map(Instant::toEpochMilli).orElse(takenAt);
                        names.in(id, value, (node, piece) -> spool.add(node, piece.bytes(), made));
                    },
                    QUIETLY);
            spool.seal();
            return new View(mark, spool);
        } catch (Exception | Error e) {
            spool.close();
            throw e;
        }
    }

    /** A value that names the piece, if there is one: found by reading all values, without a mark. */
    public Optional<ValueId> namer(NodeId node, byte[] piece) throws Exception {
        ValueId[] found = new ValueId[1];
        graph.readAll((id, value) -> names.in(id, value, (at, named) -> {
            if (at.equals(node) && Arrays.equals(named.bytes(), piece)) {
                found[0] = id;
            }
        }));
        return Optional.ofNullable(found[0]);
    }

    private record View(GraphMark mark, PieceSpool spool) implements Snapshot {

        @Override
        public Instant takenAt() {
            return mark.takenAt();
        }

        @Override
        public String incarnation() {
            return mark.incarnation();
        }

        @Override
        public int ranges() {
            return spool.ranges();
        }

        @Override
        public void scan(int range, PieceSink sink) throws Exception {
            spool.read(range, sink);
        }

        @Override
        public Optional<Map<NodeId, Long>> counts() {
            return Optional.of(spool.counts());
        }

        @Override
        public void check() {
            mark.check();
        }

        @Override
        public void close() throws IOException {
            spool.close();
        }
    }
}
