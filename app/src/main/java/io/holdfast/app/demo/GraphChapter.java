package io.holdfast.app.demo;

import io.holdfast.Why;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.why.Whys;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.link.RedisLink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** A large tree is dropped while somebody else uses the server. */
final class GraphChapter implements Chapter {

    private static final int FAN = 10;
    private static final int VALUES = 55_555;

    @Override
    public String title() {
        return "value graph: a value goes when nothing holds it, and nobody waits for that";
    }

    @Override
    public void tell(Stage stage) throws Exception {
        ValueGraph docs = stage.holdfast.graph("docs");
        ValueId leaf = build(stage, docs);
        Whys whys = new Whys(stage.holdfast);
        stage.why(whys.ask("value:docs/" + leaf));
        long total = docs.inspect().statistics().values();
        try (Snapshot snapshot = docs.snapshot("main")) {
            docs.root("main").drop();
            stage.claim(
                    snapshot.get(leaf).length == 100
                            && docs.inspect().statistics().values() == total,
                    "the root is dropped, and a reader's snapshot still holds all " + total + " values");
        }
        double ours = watchTheDrop(stage, docs, total);
        double naive = dropNaively(stage);
        stage.say("longest wait of another client while " + total + " values went: Holdfast " + Stage.number(ours)
                + " ms; one script that drops it all " + Stage.number(naive) + " ms");
        stage.claim(naive > 2 * ours, "the unbounded drop stalls the server, the steps do not");
        Why why = whys.ask("value:docs/" + leaf);
        stage.why(why);
        stage.claim(why instanceof Why.Gone, "the ledger knows why it is gone");
        stage.figure("values", total);
        stage.figure("longestWaitMillis", ours);
        stage.figure("longestWaitMillisOfOneScript", naive);
    }

    private static ValueId build(Stage stage, ValueGraph docs) {
        byte[] bytes = new byte[100];
        Deque<ValueId> level = new ArrayDeque<>();
        ValueId leaf;
        try (GraphWriter writer = docs.writer();
                Progress bar = stage.bar("putting values", VALUES)) {
            for (int i = 0; i < VALUES * (FAN - 1) / FAN; i++) {
                level.add(writer.put(bytes));
                bar.step(1);
            }
            leaf = level.getFirst();
            while (level.size() > 1) {
                List<ValueId> children = new ArrayList<>();
                for (int i = 0; i < FAN && !level.isEmpty(); i++) {
                    children.add(level.removeFirst());
                }
                level.add(writer.put(bytes, children));
                bar.step(1);
            }
            docs.root("main").set(level.getFirst());
        }
        return leaf;
    }

    /** The cascade runs in the background; here it is only watched. */
    private static double watchTheDrop(Stage stage, ValueGraph docs, long total) throws Exception {
        long begun = System.nanoTime();
        double longest;
        try (Pings pings = new Pings(stage.connect());
                Progress bar = stage.bar("reclaiming", total)) {
            long[] left = {total};
            boolean gone = stage.await(() -> {
                long now = docs.inspect().statistics().values();
                bar.step(left[0] - now);
                left[0] = now;
                return now == 0;
            });
            longest = pings.longestMillis();
            stage.claim(
                    gone,
                    "the snapshot is closed, and all " + total + " values are reclaimed in bounded steps, in "
                            + Stage.number(Stage.millis(System.nanoTime() - begun)) + " ms");
        }
        return longest;
    }

    private static double dropNaively(Stage stage) throws Exception {
        try (RedisLink link = stage.connect()) {
            NaiveTree tree = new NaiveTree(link);
            tree.build(VALUES, FAN);
            try (Pings pings = new Pings(stage.connect())) {
                long freed = tree.drop();
                double longest = pings.longestMillis();
                stage.claim(
                        freed == VALUES, "for comparison, " + freed + " nodes as counters and lists go in one script");
                return longest;
            }
        }
    }
}
