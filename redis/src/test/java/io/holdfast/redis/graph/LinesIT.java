package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Values that are put as the next version of others count what they share once, and leave it to each other. */
class LinesIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;
    private GraphWriter writer;
    private List<ValueId> leaves;

    @BeforeEach
    void open() {
        redis = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
        graph = fixture.graph;
        writer = graph.writer();
        leaves = IntStream.range(0, 8)
                .mapToObj(i -> writer.put(bytes("leaf " + i)))
                .toList();
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    private void beginAnew() {
        close();
        server.server().flush();
        open();
    }

    /** A value as its client knows it. */
    private record Page(ValueId id, List<ValueId> children) {

        Predecessor asBefore() {
            return new Predecessor(id, children);
        }
    }

    private Page put(String value, List<ValueId> children) {
        return new Page(writer.put(bytes(value), children), children);
    }

    private Page after(Page before, String value, List<ValueId> children) {
        return new Page(writer.put(bytes(value), children, before.asBefore()), children);
    }

    private Page named(String root, Page page) {
        graph.root(root).set(page.id());
        return page;
    }

    /** A line of three, each with a leaf of its own in place of one of the first; each under a root that is put apart. */
    private List<Page> lineOfThree() {
        List<Page> line = new ArrayList<>();
        line.add(put("first", leaves.subList(0, 6)));
        writer.flush();
        for (int i = 1; i < 3; i++) {
            List<ValueId> next = new ArrayList<>(line.getLast().children());
            next.set(i, leaves.get(5 + i));
            line.add(after(line.getLast(), "next " + i, next));
            writer.flush();
        }
        for (int i = 0; i < 3; i++) {
            named("root " + i, line.get(i));
        }
        return line;
    }

    @Test
    void whatTheVersionsShareIsCountedOnce() {
        List<Page> line = lineOfThree();
        for (ValueId leaf : leaves) {
            assertThat(redis.hget(GraphFixture.key("counts", leaf.raw()), leaf.raw()))
                    .as("a small value that is held once has no count")
                    .isNull();
        }
        for (Page page : line) {
            assertThat(graph.children(page.id())).isEqualTo(page.children());
        }
        assertSoundWith(3 + 8);
        assertThat(graph.inspect().statistics().edges()).isEqualTo(18);
    }

    @Test
    void inWhateverOrderTheyGoEachLeavesWhatTheOthersHave() {
        for (List<Integer> order : List.of(
                List.of(0, 1, 2),
                List.of(2, 1, 0),
                List.of(1, 0, 2),
                List.of(1, 2, 0),
                List.of(0, 2, 1),
                List.of(2, 0, 1))) {
            List<Page> line = lineOfThree();
            for (int gone = 0; gone < 3; gone++) {
                graph.root("root " + order.get(gone)).drop();
                fixture.drain();
                for (int rest : order.subList(gone + 1, 3)) {
                    assertThat(graph.findAll(line.get(rest).children()))
                            .as("%s after %s", order, gone)
                            .hasSize(6);
                }
                assertThat(graph.inspect().verify(GraphProgress.NONE).findings())
                        .as("%s after %s", order, gone)
                        .isEmpty();
            }
            writer.close();
            fixture.drain();
            assertThat(GraphFixture.count(redis, "values")).as("%s", order).isZero();
            beginAnew();
        }
    }

    @Test
    void previewKnowsWhatALineKeeps() {
        lineOfThree();
        writer.close();
        fixture.drain();
        for (int i : new int[] {1, 0, 2}) {
            Preview preview = graph.inspect().preview("root " + i, GraphProgress.NONE);
            graph.root("root " + i).drop();
            assertThat(fixture.drain()).isEqualTo(preview.values());
        }
    }

    @Test
    void versionsOfOneBatchAreOneLine() {
        Page first = put("first", leaves);
        writer.flush();
        List<Page> versions = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            List<ValueId> next = new ArrayList<>(leaves);
            next.set(i, writer.put(bytes("leaf of version " + i)));
            versions.add(after(first, "version " + i, next));
        }
        writer.flush();
        ValueId last = first.id();
        for (Page version : versions) {
            assertThat(entry(version).before()).isEqualTo(last);
            last = version.id();
        }
        assertThat(GraphFixture.count(redis, "counts"))
                .as("the values with children, and the leaves that a version lacks and the next one has again")
                .isEqualTo(5 + 3);
        assertSoundWith(8 + 1 + 4 + 4);
        writer.close();
        fixture.drain();
        assertSoundWith(0);
    }

    @Test
    void whereTheOneBeforeIsOfNoUseTheValueHoldsItsChildrenByItself() {
        Page first = named("first", put("first", leaves));
        Page wrong = new Page(first.id(), leaves.subList(0, 7));
        Page second = named("second", put("second", leaves.subList(1, 8)));
        Page strange = new Page(ValueId.parse("77".repeat(16)), leaves);
        Page childless = new Page(leaves.getFirst(), leaves);
        List<Page> alone = new ArrayList<>();
        for (Page before : List.of(wrong, strange, childless)) {
            alone.add(named("of " + before.id(), after(before, "next", leaves)));
            writer.flush();
        }
        Page next = named("next", after(second, "after", leaves));
        writer.flush();
        alone.add(named("taken", after(second, "too late", leaves)));
        writer.flush();
        assertThat(alone).allSatisfy(page -> assertThat(entry(page).isInLine()).isFalse());
        assertSoundWith(8 + 2 + 3 + 2);
        assertThat(next.children()).isEqualTo(leaves);
    }

    @Test
    void childrenThatAreListedSeveralTimesAreCountedAsOften() {
        ValueId leaf = leaves.getFirst();
        Page first = put("first", Collections.nCopies(3, leaf));
        writer.flush();
        Page second = after(first, "second", Collections.nCopies(5, leaf));
        writer.flush();
        Page third = after(second, "third", List.of(leaf, leaves.getLast(), leaf));
        writer.flush();
        assertThat(redis.hget(GraphFixture.key("counts", leaf.raw()), leaf.raw()))
                .isEqualTo(bytes("5"));
        graph.root("third").set(third.id());
        graph.root("first").set(first.id());
        writer.close();
        fixture.drain();
        assertThat(redis.hget(GraphFixture.key("counts", leaf.raw()), leaf.raw()))
                .isEqualTo(bytes("3"));
        assertSoundWith(4);
        graph.root("first").drop();
        fixture.drain();
        assertThat(redis.hget(GraphFixture.key("counts", leaf.raw()), leaf.raw()))
                .isEqualTo(bytes("2"));
        assertSoundWith(3);
    }

    /** The old version is held by a reader, so it cannot end in the call that moves the root. */
    @Test
    void rootThatMovesOnWhileAReaderHasTheVersionBefore() {
        Page first = named("main", put("first", leaves));
        Snapshot reader = graph.snapshot("main");
        Page second = named("main", after(first, "second", leaves.subList(0, 7)));
        assertThat(entry(second).before()).isEqualTo(first.id());
        assertThat(redis.hget(
                        GraphFixture.key("counts", leaves.get(1).raw()),
                        leaves.get(1).raw()))
                .isNull();
        reader.close();
        fixture.drain();
        assertThat(entry(second).isInLine()).isFalse();
        assertSoundWith(8);
        Page third = named("main", after(second, "third", leaves.subList(0, 6)));
        assertThat(entry(third).isInLine())
                .as("what it was put after ended in the same call")
                .isFalse();
        assertSoundWith(7);
        graph.root("main").drop();
        fixture.drain();
        assertSoundWith(0);
    }

    @Test
    void longLineThatEndsAtOnceIsReclaimedInBoundedSteps() {
        Page page = put("first", leaves);
        for (int i = 0; i < 500; i++) {
            page = after(page, "version " + i, leaves);
        }
        graph.root("last").set(page.id());
        writer.close();
        int steps = 0;
        while (graph.scripts().step().hasMore()) {
            steps++;
        }
        assertThat(steps).as("500 values with 8 edges each").isGreaterThan(500 * 8 / 384);
        assertSoundWith(1 + 8);
    }

    /** So many values of so many children each. */
    private List<Page> pages(int number, int children) {
        List<Page> pages = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            List<ValueId> own = new ArrayList<>();
            for (int j = 0; j < children; j++) {
                own.add(writer.put(bytes("leaf")));
            }
            pages.add(put("page " + i, own));
        }
        writer.flush();
        return pages;
    }

    /** Who loses a race for the place after has counted on children that it now has to count itself, many times as many. */
    @Test
    void linesThatAreRefusedInTheirHundredsAreMadeUpForInBoundedCalls() {
        List<Page> pages = pages(150, 60);
        pages.forEach(page -> after(page, "winner", page.children()));
        writer.flush();
        GraphWriter loser = graph.writer();
        pages.forEach(page -> loser.put(bytes("loser"), page.children(), page.asBefore()));
        loser.flush();
        assertSoundWith(150 * 60 + 3 * 150 + 8);
        writer.close();
        fixture.drain();
        assertSoundWith(150 * 60 + 150);
        loser.close();
        fixture.drain();
        assertSoundWith(0);
    }

    /** A call that was refused arrives once more, when its place in the line is free and the writer has done something else. */
    @Test
    void refusedBatchThatArrivesLateDoesNothing() {
        List<Page> pages = pages(20, 64);
        GraphWriter winner = graph.writer();
        pages.forEach(page -> winner.put(bytes("winner"), page.children(), page.asBefore()));
        winner.flush();
        GraphWriter loser = graph.writer();
        Map<ValueId, GraphWriter.Pending> batch = new LinkedHashMap<>();
        for (int i = 0; i < pages.size(); i++) {
            Page page = pages.get(i);
            ValueId id = ValueId.parse("7f%030x".formatted(i));
            batch.put(id, new GraphWriter.Pending(new byte[600], page.children(), page.asBefore()));
        }
        PutRequest refused = PutRequest.of(batch, Set.of(), Set.of());
        assertThat(graph.scripts().put(loser.lease(), 1, refused).status()).isEqualTo("ALONE");
        assertThat(graph.scripts().put(loser.lease(), 1, refused).status())
                .as("repeated")
                .isEqualTo("ALONE");
        winner.close();
        fixture.drain();
        assertThat(graph.scripts().put(loser.lease(), 1, refused).status())
                .as("late")
                .isEqualTo("ALONE");
        batch.replaceAll((id, value) -> new GraphWriter.Pending(value.bytes(), value.children()));
        PutRequest alone = PutRequest.of(batch, Set.of(), Set.of());
        assertThat(graph.scripts().put(loser.lease(), 2, alone).status()).isEqualTo("OK");
        assertThat(graph.scripts().put(loser.lease(), 2, alone).status())
                .as("repeated")
                .isEqualTo("OK");
        assertThat(graph.scripts().put(loser.lease(), 1, refused).status())
                .as("late")
                .isEqualTo("STALE");
        assertSoundWith(20 * 64 + 2 * 20 + 8);
    }

    @Test
    void manyLinesWhileAVerifyRunsAreNoted() {
        List<Page> pages = pages(150, 64);
        AtomicBoolean done = new AtomicBoolean();
        VerifyReport report = graph.inspect().verify((phase, at, total) -> {
            if (phase.equals("counts") && done.compareAndSet(false, true)) {
                pages.forEach(page -> after(page, "next", page.children()));
                writer.flush();
            }
        });
        assertThat(report.findings()).isEmpty();
        assertSoundWith(150 * 64 + 2 * 150 + 8);
    }

    /** Short ones between long ones: what goes with them is what the long ones behind them have again. */
    @Test
    void shortVersionsBetweenLongOnesAreChargedForWhatTheyTakeAlong() {
        for (int budget : new int[] {384, 2_048}) {
            try (GraphFixture own =
                    new GraphFixture(server.uri().toString(), GraphFixture.with(GraphSettings.STEP_EDGES, budget))) {
                List<Page> pages = pages(200, 64);
                GraphWriter between = graph.writer();
                List<Page> thin = new ArrayList<>();
                for (Page page : pages) {
                    List<ValueId> one = page.children().subList(0, 1);
                    thin.add(new Page(between.put(bytes("thin"), one, page.asBefore()), one));
                }
                between.flush();
                GraphWriter last = graph.writer();
                for (int i = 0; i < pages.size(); i++) {
                    last.put(bytes("last"), pages.get(i).children(), thin.get(i).asBefore());
                }
                last.flush();
                between.close();
                own.drain();
                assertSoundWith(200 * 64 + 2 * 200 + 8);
                writer.close();
                own.drain();
                assertSoundWith(200 * 64 + 200);
                last.close();
                own.drain();
                assertSoundWith(0);
            }
            beginAnew();
        }
    }

    /** A caller that names the new children for the old ones. */
    @Test
    void childOfTheBatchThatIsTakenForOneOfThePredecessorIsHeldAllTheSame() {
        Page first = put("first", leaves);
        writer.flush();
        List<ValueId> next = new ArrayList<>(leaves);
        next.set(0, writer.put(bytes("new leaf")));
        ValueId second = writer.put(bytes("second"), next, new Predecessor(first.id(), next));
        graph.root("main").set(second);
        writer.close();
        fixture.drain();
        assertThat(graph.children(second)).isEqualTo(next);
        assertSoundWith(1 + 8);
    }

    /** The second has lost its place in the line: it counts on the first all the same. */
    @Test
    void repairOfABrokenLineKeepsWhatTheOtherOneCountsOn() {
        Page first = named("first", put("first", leaves));
        Page second = named("second", after(first, "second", leaves));
        writer.close();
        redis.hset(
                GraphFixture.key("edges", second.id().raw()),
                second.id().raw(),
                new EdgeEntry(entry(second).packed(), null, null).write(16));
        graph.inspect().repair(true, GraphProgress.NONE);
        graph.root("first").drop();
        fixture.drain();
        assertThat(graph.findAll(second.children())).hasSize(8);
        graph.inspect().repair(true, GraphProgress.NONE);
        assertSoundWith(1 + 8);
    }

    @Test
    void onlyWhatIsThereIsNoted() {
        Page first = named("first", put("first", leaves));
        Page second = named("second", after(first, "second", leaves));
        writer.close();
        AtomicBoolean done = new AtomicBoolean();
        VerifyReport report = graph.inspect().verify((phase, at, total) -> {
            if (phase.equals("values") && done.compareAndSet(false, true)) {
                graph.root("first").drop();
                fixture.drain();
            }
        });
        assertThat(report.unjudged()).isEqualTo(2 + second.children().size());
    }

    /** What was not written by Holdfast must not stop a step half way. */
    @Test
    void entryOfAnyLengthDoesNotStopAStep() {
        for (int parents = 4; parents <= 60; parents += 8) {
            ValueId bad = writer.put(bytes("bad"), writer.put(bytes("leaf of bad")));
            for (int i = 1; i < parents; i++) {
                writer.put(bytes("parent"), writer.put(bytes("only mine")), writer.put(bytes("only mine too")));
            }
            for (int i = 0; i < 400; i++) {
                writer.put(bytes("x"));
            }
            writer.flush();
            redis.hset(GraphFixture.key("edges", bad.raw()), bad.raw(), new byte[parents % 16 == 4 ? 40 : 17]);
            writer.close();
            fixture.drain();
            assertThat(graph.inspect().statistics().values())
                    .as("the leaf of bad")
                    .isOne();
            beginAnew();
        }
    }

    /** Neighbours that contradict each other are no reason to free anything. */
    @Test
    void nothingIsGivenUpInALineThatIsBroken() {
        List<Page> line = lineOfThree();
        writer.close();
        Page middle = line.get(1);
        EdgeEntry entry = entry(middle);
        EdgeEntry broken = new EdgeEntry(entry.packed(), null, entry.after());
        redis.hset(GraphFixture.key("edges", middle.id().raw()), middle.id().raw(), broken.write(16));
        graph.root("root 0").drop();
        graph.root("root 2").drop();
        fixture.drain();
        assertThat(graph.findAll(middle.children())).hasSize(6);
        assertThat(graph.inspect().statistics().miscounts()).isPositive();
        for (int i = 0; i < 3; i++) {
            graph.inspect().repair(true, GraphProgress.NONE);
            fixture.drain();
        }
        assertThat(graph.findAll(middle.children())).hasSize(6);
        assertSoundWith(1 + 6);
    }

    /** In whichever phase of a verify versions come and go, none of it is taken for a fault. */
    @Test
    void whatMovesWithinALineWhileAVerifyRunsIsNotJudged() {
        for (String phaseOfChange : List.of("values", "counts", "edges", "roots", "held", "reachable")) {
            for (int first = 0; first < 3; first++) {
                lineOfThree();
                int dropped = first;
                AtomicBoolean done = new AtomicBoolean();
                VerifyReport report = graph.inspect().verify((phase, at, total) -> {
                    if (phase.equals(phaseOfChange) && done.compareAndSet(false, true)) {
                        graph.root("root " + dropped).drop();
                        fixture.drain();
                    }
                });
                assertThat(done).as(phaseOfChange).isTrue();
                assertThat(report.findings()).as(phaseOfChange).isEmpty();
                beginAnew();
            }
        }
    }

    /** A value was read under the one before, which leaves the line before it is read itself, or the other way round. */
    @Test
    void whatIsLeftToTheNextOneBetweenTwoPagesOfAVerifyIsNotJudged() {
        for (int page = 3; page <= 5; page++) { // pages double from 8 entries on; neighbours are read for 64 at once
            List<Hold> firsts = new ArrayList<>();
            List<Hold> others = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                List<ValueId> own = List.of(writer.put(bytes("a")), writer.put(bytes("b")), writer.put(bytes("c")));
                Page first = put("first " + i, own);
                firsts.add(graph.hold(first.id(), Duration.ofMinutes(5)));
                Page next = after(first, "next " + i, own.subList(0, 2));
                others.add(graph.hold(next.id(), Duration.ofMinutes(5)));
            }
            writer.close();
            fixture.drain();
            int last = page;
            AtomicInteger pages = new AtomicInteger();
            VerifyReport report = graph.inspect().verify((phase, at, total) -> {
                if (phase.equals("edges") && pages.incrementAndGet() == last) {
                    firsts.forEach(Hold::close);
                    fixture.drain();
                }
            });
            assertThat(pages).as("pages").hasValueGreaterThan(last);
            assertThat(report.findings()).as("after page %s", page).isEmpty();
            assertThat(graph.findAll(others.stream().map(Hold::target).toList()))
                    .hasSize(200);
            beginAnew();
        }
    }

    @Test
    void anyLineCanBeTakenApartInAnyOrder() {
        Seeds.of(12).run((seed, random) -> {
            server.server().flush();
            try (GraphFixture own = new GraphFixture(
                    server.uri().toString(), GraphFixture.with(GraphSettings.STEP_EDGES, 16 + random.nextInt(400)))) {
                GraphWriter puts = own.graph.writer();
                List<ValueId> pool = new ArrayList<>();
                for (int i = 0; i < 10; i++) {
                    pool.add(puts.put(bytes("leaf " + i)));
                }
                List<Hold> holds = new ArrayList<>();
                List<ValueId> children = new ArrayList<>(pool);
                Predecessor before = null;
                for (int i = 0; i < 30; i++) {
                    own.graph.shelves().moveTo(random.nextInt(3));
                    children.set(random.nextInt(children.size()), pool.get(random.nextInt(pool.size())));
                    ValueId id = before == null
                            ? puts.put(bytes("v" + i), children)
                            : puts.put(bytes("v" + i), children, before);
                    holds.add(own.graph.hold(id, Duration.ofMinutes(5)));
                    before = new Predecessor(id, children);
                }
                puts.close();
                Collections.shuffle(holds, new java.util.Random(seed));
                while (!holds.isEmpty()) {
                    holds.removeLast().close();
                    if (random.nextInt(3) == 0) {
                        own.drain();
                    }
                    for (Hold hold : holds) {
                        List<ValueId> held = own.graph.children(hold.target());
                        assertThat(own.graph.findAll(held).keySet()).containsAll(held);
                    }
                    assertThat(own.graph.inspect().verify(GraphProgress.NONE).findings())
                            .isEmpty();
                }
                own.drain();
                assertThat(GraphFixture.count(redis, "values")).isZero();
            }
        });
    }

    private EdgeEntry entry(Page page) {
        return EdgeEntry.read(
                redis.hget(GraphFixture.key("edges", page.id().raw()), page.id().raw()), 16);
    }

    private void assertSoundWith(long values) {
        assertThat(graph.inspect().statistics().values()).isEqualTo(values);
        VerifyReport report = graph.inspect().verify(GraphProgress.NONE);
        assertThat(report.findings()).isEmpty();
        assertThat(report.isSound()).isTrue();
    }
}
