package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.Why;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** A batch is a transaction of two runs of a script and what stands between them: what if a part of it does not happen? */
class GraphTransactionIT {

    private static final byte[] INCOMING = GraphFixture.key("incoming");

    @RegisterExtension
    static final SharedRedis server = SharedRedis.with(setup -> setup.user("app", "pw", "~hf:*", "+@all"));

    private Jedis redis;
    /** Too long to pass through a script: it stands beside. */
    private static final byte[] LONG = new byte[PutRequest.FEW_BYTES + 1];

    private GraphFixture fixture;
    private ValueGraph graph;
    private ValueId kept;

    @BeforeEach
    void open() {
        redis = server.client();
        redis.aclSetUser("app", "+@all");
        fixture = new GraphFixture("redis://app:pw@127.0.0.1:" + server.server().port(), Settings.none());
        graph = fixture.graph;
        try (GraphFixture other = new GraphFixture(server.uri().toString(), Settings.none());
                GraphWriter writer = other.graph.writer()) {
            kept = writer.put(bytes("kept"));
            other.graph.root("main").set(kept);
        }
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    /** Else its parts would run one by one, and two writers at once would lose everything. */
    @Test
    void whereTransactionsAreRefusedNoPartOfABatchIsRun() {
        redis.aclSetUser("app", "-multi");
        GraphWriter writer = graph.writer();
        ValueId id = writer.put(LONG);
        assertRefused(writer::flush, "'multi'");
        assertThat(GraphFixture.values(redis)).containsExactly(bytes("kept"));

        redis.aclSetUser("app", "+multi");
        writer.flush();
        assertThat(graph.find(id)).isPresent();
    }

    /** Else the first run would stand alone, and whoever comes next give values their name back before the bytes come. */
    @Test
    void whereTransactionsAreForbiddenLaterABatchWritesNothing() {
        for (String command : List.of("multi", "exec")) {
            GraphWriter writer = graph.writer();
            writer.put(LONG);
            writer.flush();
            Map<String, Long> before = GraphFixture.parts(redis);
            redis.aclSetUser("app", "-" + command);
            ValueId id = writer.put(LONG);
            assertRefused(writer::flush, "'" + command + "'");
            assertThat(GraphFixture.parts(redis)).as(command).isEqualTo(before);
            assertThat(redis.exists(INCOMING)).as(command).isFalse();
            assertThat(graph.find(kept)).as(command).isPresent();

            redis.aclSetUser("app", "+" + command);
            writer.flush();
            assertThat(graph.find(id)).as(command).contains(LONG);
            writer.close();
        }
    }

    /** Of a client that died between NOSCRIPT and sending the script, if nobody puts anything any more. */
    @Test
    void bytesThatNoScriptTookAreThrownAwayByTheNextIdleStep() {
        redis.hset(INCOMING, bytes("an id of 16 byte"), new byte[1_000]);
        fixture.drain();
        assertThat(redis.exists(INCOMING)).isFalse();
        assertThat(graph.find(kept)).isPresent();
    }

    @Test
    void batchThatMayNotRenameWritesNothingAndIsNotTakenForDone() {
        redis.aclSetUser("app", "-renamenx");
        GraphWriter writer = graph.writer();
        ValueId id = writer.put(LONG, kept);
        assertRefused(writer::flush, "put.lua: Redis answered");
        assertThat(GraphFixture.values(redis)).containsExactly(bytes("kept"));
        assertThat(redis.exists(INCOMING)).isFalse();
        assertThat(GraphFixture.count(redis, "edges")).isZero();

        redis.aclSetUser("app", "+renamenx");
        writer.flush();
        assertThat(graph.find(id)).isPresent();
    }

    /** What a batch of a client that died left when the script cache was empty is not taken for values. */
    @Test
    void whatAFlushedScriptCacheLeftIsThrownAway() {
        redis.hset(INCOMING, new byte[16], bytes("never put"));
        try (GraphWriter writer = graph.writer()) {
            graph.root("other").set(writer.put(LONG));
        }
        assertThat(GraphFixture.values(redis)).containsExactlyInAnyOrder(bytes("kept"), LONG);
        assertThat(redis.exists(INCOMING)).isFalse();
    }

    /** A server whose disk fails between the two runs refuses the second. */
    @Test
    void nextPutGivesValuesItsNameBackAndIsDoneWhenItIsRepeated() {
        List<byte[]> values = new ArrayList<>(List.of(bytes("kept")));
        for (byte[] value : List.of(bytes("through the script"), LONG)) {
            GraphWriter writer = graph.writer();
            ValueId id = writer.put(value);
            tear();
            assertCategory(Category.RETRY, writer::flush, "torn");
            assertThat(graph.find(kept)).isPresent();
            writer.flush();
            values.add(value);
            assertThat(GraphFixture.values(redis)).containsExactlyInAnyOrderElementsOf(values);
            assertThat(graph.find(id)).isPresent();
        }
    }

    /** A child without a count is looked for in values, which has another name then: that does not make it gone. */
    @Test
    void putOverAChildThatSeemsGoneGivesValuesItsNameBackAndIsDoneWhenItIsRepeated() {
        GraphWriter writer = graph.writer();
        ValueId parent = writer.put(bytes("parent"), kept);
        tear();
        assertCategory(Category.RETRY, writer::flush, "torn");
        writer.flush();
        assertThat(graph.children(parent)).containsExactly(kept);
        assertThat(graph.inspect().verify((phase, done, total) -> {}).isSound()).isTrue();
    }

    /** Whoever believed that the values are gone would free what they hold, or let them leak. */
    @Test
    void everyScriptThatAsksForValuesGivesThemTheirNameBackBeforeItDoesAnything() {
        GraphWriter writer = graph.writer();
        GraphWriter other = graph.writer();
        other.put(bytes("of a writer that is closed"));
        other.flush();
        Hold hold = graph.hold(kept, Duration.ofMinutes(1));
        InspectionScripts inspection = graph.inspectionScripts();
        Fix fix = Fix.uncount(kept.raw(), bytes("2"));
        for (ThrowingCallable call : List.<ThrowingCallable>of(
                () -> graph.scripts().step(),
                () -> writer.put(new byte[GraphWriter.BATCH_BYTES + 1]),
                () -> graph.root("other").set(kept),
                () -> graph.root("main").drop(),
                () -> graph.hold(kept, Duration.ofMinutes(1)),
                () -> graph.scripts().release(hold.lease().id()),
                () -> graph.scripts().release(other.lease().id()),
                () -> inspection.repair("token", fix, "none"),
                () -> graph.mark(),
                () -> graph.inspect().verify((phase, done, total) -> {}))) {
            Map<String, String> counts = counts();
            tear();
            assertCategory(Category.RETRY, call, "torn");
            assertThat(GraphFixture.values(redis))
                    .containsExactlyInAnyOrder(bytes("kept"), bytes("of a writer that is closed"));
            assertThat(redis.exists(INCOMING)).isFalse();
            assertThat(counts()).isEqualTo(counts);
        }
    }

    /** Nor do they have to wait: as long as the disk fails, no script can give values their name back. */
    @Test
    void readersFindValuesUnderTheirOtherName() {
        GraphWriter writer = graph.writer();
        ValueId large = writer.put(new byte[300_000]);
        ValueId heldOnce = writer.put(bytes("held once"));
        writer.flush();
        Snapshot snapshot = graph.snapshot("main");
        long values = graph.inspect().statistics().values();
        tear();
        assertThat(snapshot.get(kept)).isEqualTo(bytes("kept"));
        assertThat(graph.find(large))
                .hasValueSatisfying(value -> assertThat(value).hasSize(300_000));
        assertThat(graph.findAll(List.of(kept, large, heldOnce))).hasSize(3);
        assertThat(graph.inspect().why(heldOnce, GraphProgress.NONE)).isInstanceOf(Why.Alive.class);
        assertThat(graph.inspect().statistics().values()).isEqualTo(values);
        assertCategory(Category.RETRY, () -> graph.inspectionScripts().sizes(List.of(kept)), "torn");
        assertThat(redis.exists(shelfOf(kept))).as("a reader writes nothing").isFalse();
    }

    /** What is written to the ledger is what was there: a large value is one, however many chunks it has. */
    @Test
    void destroyCountsValuesUnderTheirOtherName() {
        GraphWriter writer = graph.writer();
        writer.put(new byte[600_000]);
        writer.flush();
        tear();
        assertThat(graph.inspectionScripts().destroy(graph.incarnation()).values())
                .isEqualTo(2);
        assertThat(GraphFixture.values(redis)).isEmpty();
        assertThat(redis.exists(INCOMING)).isFalse();
    }

    @Test
    void markThatIsLostByATornTransactionDoesNotStopFreeing() {
        GraphMark mark = graph.mark();
        tear();
        assertCategory(Category.RETRY, () -> graph.scripts().step(), "torn");
        assertCategory(Category.LAPSED, mark::check, "torn");
        mark.close();
        graph.root("main").drop();
        assertThat(fixture.drain()).isZero(); // dropping has freed it
        assertThat(graph.find(kept)).isEmpty();
    }

    @Test
    void repairThatEndsWhileValuesHaveAnotherNameStillReports() {
        redis.hset(GraphFixture.key("counts", kept.raw()), kept.raw(), bytes("7"));
        AtomicBoolean torn = new AtomicBoolean();
        RepairReport report = graph.inspect().repair(true, (phase, done, total) -> {
            if (phase.equals("repair") && torn.compareAndSet(false, true)) {
                tear();
            }
        });
        assertThat(report.repaired()).hasSize(1);
        assertThat(graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();
    }

    /** Bytes that came beside a script which the server did not know are not taken for a value that was put. */
    @Test
    void strayBytesOfAValueWithChildrenAreNotTakenForTheValue() {
        graph.destroy();
        Settings content = GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT);
        try (GraphFixture own = new GraphFixture(server.uri().toString(), content)) {
            GraphWriter writer = own.graph.writer();
            ValueId child = writer.put(bytes("child"));
            writer.flush();
            ValueId parent = writer.put(LONG, child);
            redis.hset(GraphFixture.key("values", parent.raw()), parent.raw(), LONG);
            own.graph.root("main").set(parent);
            writer.close();
            own.drain();
            assertThat(own.graph.children(parent)).containsExactly(child);
            assertThat(own.graph.find(child)).isPresent();
            assertThat(own.graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();
        }
    }

    /** A value whose count was lost is not one that was never put: what names it holds it. */
    @Test
    void valueWhoseCountWasLostIsNotTakenForStrayBytes() {
        graph.destroy();
        Settings content = GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT);
        try (GraphFixture own = new GraphFixture(server.uri().toString(), content)) {
            GraphWriter first = own.graph.writer();
            ValueId parent = first.put(bytes("parent"), first.put(bytes("child")));
            own.graph.root("main").set(parent);
            first.close();
            redis.hdel(GraphFixture.key("counts", parent.raw()), parent.raw());
            GraphWriter second = own.graph.writer();
            assertThat(second.put(bytes("parent"), second.put(bytes("child")))).isEqualTo(parent);
            second.close();
            own.drain();
            assertThat(own.graph.find(parent)).isPresent();
        }
    }

    @Test
    void serverThatWasStartedAgainIsGivenTheScriptBeforeAnythingStandsBesideIt() {
        try (RedisServer own = RedisServer.setup().durable().start();
                GraphFixture there = new GraphFixture(own.uri().toString(), Settings.none())) {
            GraphWriter writer = there.graph.writer();
            ValueId first = writer.put(LONG);
            writer.flush();
            ValueId id = writer.put(LONG);
            try (Jedis direct = own.client()) {
                tear(direct, first);
            }
            own.kill();
            own.restart();
            HoldfastException torn = null;
            for (int i = 0; i < 5 && torn == null; i++) {
                HoldfastException refused = catchThrowableOfType(HoldfastException.class, writer::flush);
                assertThat(refused).as("the name is given back first").isNotNull();
                torn = refused.toString().contains("torn") ? refused : null;
            }
            assertThat(torn).isNotNull();
            try (Jedis direct = own.client()) {
                assertThat(direct.hexists(shelfOf(id), id.raw()))
                        .as("bytes beside a script that did not run")
                        .isFalse();
            }
            writer.flush();
            assertThat(there.graph.find(id)).isPresent();
        }
    }

    /** A read that went over the broken connection first, and was done again on another one. */
    @Test
    void serverThatWasStartedAgainIsGivenTheScriptAlsoIfAReadMetItFirst() {
        try (RedisServer own = RedisServer.setup().durable().start();
                GraphFixture there = new GraphFixture(own.uri().toString(), Settings.none())) {
            GraphWriter writer = there.graph.writer();
            List<ValueId> spread = new ArrayList<>();
            for (int shelf = 0; shelf < 2; shelf++) {
                there.graph.shelves().moveTo(shelf);
                spread.add(writer.put(LONG));
                writer.flush();
            }
            own.kill();
            own.restart();
            assertThat(there.graph.findAll(spread)).hasSize(2);
            ValueId id = writer.put(LONG);
            writer.flush();
            assertThat(there.graph.find(id)).isPresent();
            try (Jedis direct = own.client()) {
                assertThat(direct.info("errorstats")).doesNotContain("NOSCRIPT");
            }
        }
    }

    /** Beside a script that the server does not know, while the values of a shelf have the other name. */
    @Test
    void bytesOfAnotherShelfThatComeIntoTornValuesAreNotTakenForValues() {
        try (GraphWriter writer = graph.writer()) {
            graph.shelves().moveTo(1);
            ValueId first = writer.put(LONG);
            ValueId last = writer.put(bytes("last"));
            graph.root("ends").set(writer.put(bytes("ends"), first, last));
            graph.shelves().moveTo(2);
            ValueId child = writer.put(LONG);
            ValueId old = writer.put(bytes("old"), child);
            tear(redis, first);
            redis.scriptFlush();
            assertCategory(Category.RETRY, writer::flush, "torn");
            writer.flush();
            graph.root("old").set(old);
            assertThat(redis.hexists(shelfOf(first), child.raw())).isFalse();

            graph.shelves().moveTo(1);
            graph.root("new").set(writer.put(bytes("new"), first, child, last));
            graph.root("old").drop();
            fixture.drain();
            assertThat(graph.find(child)).as("held by another parent").isPresent();
        }
        assertThat(graph.inspect().verify(GraphProgress.NONE).isSound()).isTrue();
    }

    /** A scan that met nothing would be a catalogue without a single live piece. */
    @Test
    void scanDuringWhichValuesHadAnotherNameCountsForNothing() {
        try (GraphWriter writer = graph.writer()) {
            for (int i = 0; i < 100; i++) {
                graph.root("r" + i).set(writer.put(bytes("value " + i)));
            }
        }
        AtomicBoolean torn = new AtomicBoolean();
        GraphMark.ValueVisitor tearing = (id, value) -> {
            if (torn.compareAndSet(false, true)) {
                tear(redis, id);
            }
        };
        for (boolean straightened : List.of(true, false)) {
            AtomicBoolean isStraight = new AtomicBoolean(!straightened);
            GraphProgress afterPage = (phase, done, total) -> {
                // After the page that met the first value: the next one finds all as it was.
                if (torn.get() && isStraight.compareAndSet(false, true)) {
                    assertCategory(Category.RETRY, () -> graph.scripts().step(), "torn");
                }
            };
            torn.set(false);
            HoldfastException refused = catchThrowableOfType(HoldfastException.class, () -> {
                try (GraphMark mark = graph.mark()) {
                    mark.scan(tearing, afterPage);
                }
            });
            assertThat(torn).isTrue();
            assertThat(refused).hasMessageContaining("torn");
        }
        torn.set(false);
        assertCategory(Category.RETRY, () -> graph.readAll(tearing), "torn");
        assertThat(graph.inspect().verify((phase, done, total) -> {}).isSound()).isTrue();
        torn.set(false);
        VerifyReport report = graph.inspect().verify((phase, done, total) -> {
            if (phase.equals("counts") && torn.compareAndSet(false, true)) {
                tear();
                assertCategory(Category.RETRY, () -> graph.scripts().step(), "torn");
            }
        });
        assertThat(report.isVoid()).isTrue();
    }

    /** Neither can take the place of the other: somebody has to look. */
    @Test
    void namesThatAreBothTakenAreCorruptAndNothingIsThrownAway() {
        GraphWriter[] writers = {graph.writer(), graph.writer()};
        writers[0].put(bytes("through the script"));
        writers[1].put(LONG);
        tear();
        redis.hset(shelfOf(kept), new byte[20], bytes("a chunk"));
        for (GraphWriter writer : writers) {
            assertCategory(Category.CORRUPT, writer::flush, "both there");
        }
        assertCategory(Category.CORRUPT, () -> graph.scripts().step(), "both there");
        assertThat(redis.hget(INCOMING, kept.raw())).isEqualTo(bytes("kept"));
        assertThat(redis.hvals(shelfOf(kept))).containsExactly(bytes("a chunk"));
    }

    @Test
    void lateRootOfAnEarlierLifeOfTheGraphIsNotMadeInTheNext() {
        Settings content = GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT);
        graph.destroy();
        GraphFixture first = new GraphFixture(server.uri().toString(), content);
        Root.State absent = first.graph.root("main").read();
        ValueId page = buildTree(first.graph, "main", 1, 0);
        first.graph.destroy();
        try (GraphFixture next = new GraphFixture(server.uri().toString(), content);
                GraphWriter writer = next.graph.writer()) {
            assertThat(writer.put(bytes("level 1"))).isEqualTo(page);
            writer.flush();
            assertThat(next.graph
                            .scripts()
                            .root(
                                    new GraphScripts.RootChange(
                                            "main", absent.version(), absent.floor(), page.raw(), "abc"),
                                    null)
                            .status())
                    .isEqualTo("CHANGED");
            assertThat(next.graph.roots()).isEmpty();
        }
        first.close();
    }

    /** As the first run of a put leaves it. */
    private void tear() {
        tear(redis, kept);
    }

    private static void tear(Jedis redis, ValueId id) {
        String shelf = new String(shelfOf(id), UTF_8).replaceFirst(".*:values", "");
        redis.hset(shelfOf(id), bytes(""), bytes(shelf + " ".repeat(65)));
        redis.rename(shelfOf(id), INCOMING);
    }

    private static byte[] shelfOf(ValueId id) {
        return GraphFixture.key("values", id.raw());
    }

    private Map<String, String> counts() {
        Map<String, String> counts = new HashMap<>();
        GraphFixture.entries(redis, "counts")
                .forEach(entry ->
                        counts.put(HexFormat.of().formatHex(entry.getKey()), new String(entry.getValue(), UTF_8)));
        return counts;
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertCategory(Category.MISUSE, call, message);
    }

    private static void assertCategory(Category category, ThrowingCallable call, String message) {
        HoldfastException refused = catchThrowableOfType(HoldfastException.class, call);
        assertThat(refused).isNotNull();
        assertThat(refused.category()).as(refused.getMessage()).isEqualTo(category);
        assertThat(refused).hasMessageContaining(message);
    }
}
