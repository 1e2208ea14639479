package io.holdfast.app.demo;

import io.holdfast.ManualTime;
import io.holdfast.Why;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.why.Whys;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.app.wiring.PieceLeaf;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.PieceId;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What the graph no longer names is swept from the storage nodes. */
final class SweepChapter implements Chapter {

    private static final int DOCUMENTS = 60;

    @Override
    public String title() {
        return "sweep: a piece goes when no catalogue knows it; here the catalogue is the graph";
    }

    @Override
    public void tell(Stage stage) throws Exception {
        ManualTime days = new ManualTime();
        days.setWall(Instant.now().minus(Duration.ofDays(5)));
        stage.say("the nodes' clock is moved by hand in this chapter, since days must pass");
        List<StorageNode> nodes = new ArrayList<>();
        try {
            for (String name : List.of("n1", "n2")) {
                nodes.add(StorageNode.at(stage.folder.resolve(name), name)
                        .time(days)
                        .open());
            }
            tell(stage, stage.holdfast.graph("photos"), nodes, days);
        } finally {
            for (StorageNode node : nodes) {
                node.close();
            }
        }
    }

    private static void tell(Stage stage, ValueGraph photos, List<StorageNode> nodes, ManualTime days)
            throws Exception {
        GraphCatalogue catalogue = GraphCatalogue.of(photos);
        List<PieceId> pieces = store(stage, photos, catalogue, nodes);
        days.advance(Duration.ofDays(5));
        Whys whys = new Whys(stage.holdfast).nodes(nodes).catalogue(catalogue);
        String first = "piece:n1/" + pieces.getFirst();
        Sweep sweep = Sweep.of(catalogue).nodes(nodes).time(days).set(SweepSettings.FALSE_POSITIVES, "0.0001");
        SweepReport dry = sweep.plan().trash();
        stage.claim(
                dry.trashed() == 0 && dry.wouldTrash() == 0,
                "the first cycle is a dry run: " + dry.examined() + " pieces examined, none is garbage");
        stage.why(whys.ask(first));
        List<ValueId> children = photos.children(photos.root("album").target().orElseThrow());
        try (GraphWriter writer = photos.writer()) {
            photos.root("album").set(writer.put(new byte[] {2}, children.subList(3, children.size())));
        }
        stage.say("the root moves on: the new album lacks 3 of " + DOCUMENTS + " photos");
        stage.await(() -> photos.find(children.getFirst()).isEmpty());
        long trashed = 0;
        for (int cycle = 0; cycle < 3 && trashed < 6; cycle++) {
            trashed += sweep.plan().trash().trashed(); // one in ten thousand passes a filter by chance
        }
        stage.claim(trashed == 6, "the next cycle's filter lacks their pieces, and the nodes trash " + trashed);
        Why why = whys.ask(first);
        stage.why(why);
        stage.claim(why instanceof Why.Gone, "the node's ledger knows why");
        stage.claim(
                whys.ask("piece:n1/" + pieces.getLast()) instanceof Why.Alive, "pieces that are named are untouched");
        stage.figure("examined", dry.examined());
        stage.figure("trashed", trashed);
    }

    /** A photo is a leaf that names a piece on each node. */
    private static List<PieceId> store(
            Stage stage, ValueGraph photos, GraphCatalogue catalogue, List<StorageNode> nodes) throws Exception {
        List<PieceId> pieces = new ArrayList<>();
        List<ValueId> leaves = new ArrayList<>();
        try (GraphWriter writer = photos.writer();
                Progress bar = stage.bar("storing pieces", 2L * DOCUMENTS)) {
            for (int i = 0; i < DOCUMENTS; i++) {
                byte[] photo = ("photo " + i).getBytes(StandardCharsets.UTF_8);
                PieceId id = PieceId.of(MessageDigest.getInstance("SHA-256").digest(photo));
                List<PieceLeaf.Piece> copies = new ArrayList<>();
                for (StorageNode node : nodes) {
                    node.put(catalogue.owner(), id, new ByteArrayInputStream(photo));
                    copies.add(new PieceLeaf.Piece(node.id(), id));
                    bar.step(1);
                }
                pieces.add(id);
                leaves.add(writer.put(PieceLeaf.of(copies)));
            }
            photos.root("album").set(writer.put(new byte[] {1}, leaves));
        }
        stage.say(DOCUMENTS + " photos are leaves of a graph, each names a piece on n1 and one on n2");
        return pieces;
    }
}
