package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.redis.graph.Finding.Kind;
import io.holdfast.testkit.SharedRedis;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/** Verify finds what is wrong, and nothing else; repair mends it. */
class VerifyIT {

    @RegisterExtension
    static final SharedRedis SERVER = SharedRedis.plain();

    /** What only people can decide about: data is lost, or was not written by Holdfast. */
    private static final Set<Kind> BEYOND_REPAIR =
            EnumSet.of(Kind.DANGLING_EDGE, Kind.EMPTY_ROOT, Kind.MISSING_CHUNK, Kind.CYCLE, Kind.UNREADABLE);

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;
    private ValueId top;
    private ValueId leaf;
    private ValueId large;

    @BeforeEach
    void open() {
        redis = SERVER.client();
        fixture = new GraphFixture(
                SERVER.uri().toString(),
                GraphFixture.with(GraphSettings.SNAPSHOT_LEASE, Duration.ofMinutes(5))
                        .set(GraphSettings.WRITER_LEASE, Duration.ofMinutes(5)));
        graph = fixture.graph;
        build();
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    /** A tree, a large value with a shared child, a snapshot, a writer with something of its own, something doomed. */
    private void build() {
        top = buildTree(graph, "main", 3, 4);
        leaf = graph.children(graph.children(top).getFirst()).getFirst();
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> children = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                children.add(writer.put(bytes("child " + i)));
            }
            children.add(children.getFirst());
            large = writer.put(new byte[3_000_000], children);
            graph.root("large").set(large);
        }
        fixture.drain();
        graph.snapshot("main");
        graph.hold(leaf, Duration.ofMinutes(1));
        GraphWriter writer = graph.writer();
        writer.put(bytes("mine"), writer.put(bytes("below mine")));
        writer.flush();
    }

    private VerifyReport verify() {
        return graph.inspect().verify(GraphProgress.NONE);
    }

    @Test
    void soundGraphHasNoFindings() {
        VerifyReport report = verify();
        assertThat(report.findings()).isEmpty();
        assertThat(report.isSound()).isTrue();
        assertThat(report.unjudged()).isZero();
        assertThat(report.values()).isEqualTo(21 + 301 + 2);
        assertThat(report.edges()).isEqualTo(20 + 301 + 1);
        assertThat(redis.exists(GraphFixture.key("changed"))).isFalse();
        assertThat(redis.hexists(GraphFixture.key("meta"), bytes("verify"))).isFalse();
    }

    @Test
    void graphThatIsHalfReclaimedHasNoFindings() {
        buildTree(graph, "wide", 5, 6);
        graph.root("wide").drop();
        graph.root("large").drop();
        for (int i = 0; i < 6; i++) {
            assertThat(graph.scripts().step().pending()).isPositive();
            assertThat(verify().findings()).isEmpty();
        }
        fixture.drain();
        assertThat(verify().isSound()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void everyKindOfDefectIsFoundAndMendedIfItCanBe(Kind kind) {
        plant(kind);
        VerifyReport found = verify();
        assertThat(found.counts()).as(() -> found.findings().toString()).containsKey(kind);

        Map<String, Object> before = dump();
        RepairReport dry = graph.inspect().repair(false, GraphProgress.NONE);
        assertThat(dry.applied()).isFalse();
        assertThat(dump()).as("a dry run writes nothing").isEqualTo(before);

        RepairReport repair = graph.inspect().repair(true, GraphProgress.NONE);
        assertThat(repair.repaired()).isEqualTo(dry.repaired());
        if (BEYOND_REPAIR.contains(kind)) {
            assertThat(repair.left()).extracting(Finding::kind).contains(kind);
            return;
        }
        assertThat(repair.repaired()).extracting(Finding::kind).contains(kind);
        assertThat(graph.ledger().since(Instant.EPOCH, 1_000))
                .extracting(Reclaimed::reason)
                .contains(ReclaimReason.REPAIRED);
        fixture.drain();
        graph.inspect().repair(true, GraphProgress.NONE); // what one fix touched, another run may mend
        fixture.drain();
        VerifyReport after = verify();
        assertThat(after.findings()).isEmpty();
        assertThat(after.isSound()).isTrue();
        assertThat(graph.find(top)).isPresent();
        assertThat(graph.find(leaf)).isPresent();
    }

    private void set(String part, byte[] field, byte[] value) {
        redis.hset(GraphFixture.key(part, field), field, value);
    }

    private void delete(String part, byte[] field) {
        redis.hdel(GraphFixture.key(part, field), field);
    }

    /** One corruption of each kind, written directly into the store. */
    private void plant(Kind kind) {
        byte[] held = GraphFixture.key("held");
        byte[] stranger = strangeId(1);
        switch (kind) {
            case LEAK -> set("values", stranger, bytes("nobody's"));
            case OVERCOUNT -> set("counts", top.raw(), bytes("7"));
            case UNDERCOUNT -> delete("counts", leaf.raw());
            case UNCOUNTED -> {
                try (GraphWriter writer = graph.writer()) {
                    ValueId parent = writer.put(bytes("parent"), writer.put(bytes("child")));
                    graph.root("parent").set(parent);
                    delete("counts", parent.raw());
                }
            }
            case DANGLING_EDGE -> delete("values", leaf.raw());
            case EMPTY_ROOT -> redis.hset(GraphFixture.key("roots"), bytes("lost"), concat(bytes("17;0a;"), stranger));
            case EMPTY_HOLD -> {
                byte[] lease =
                        redis.hkeys(GraphFixture.key("lease-info")).iterator().next();
                redis.zadd(held, 0, concat(lease, stranger));
            }
            case ORPHAN_COUNT -> set("counts", stranger, bytes("3"));
            case ORPHAN_EDGES -> {
                set("edges", stranger, leaf.raw());
                set("counts", leaf.raw(), bytes("3"));
            }
            case ORPHAN_CHUNK -> set("values", concat(stranger, new byte[4]), bytes("chunk"));
            case MISSING_CHUNK -> delete("values", ValueReader.chunkField(large, 1));
            case UNKNOWN_LEASE -> {
                redis.zadd(held, 0, concat(bytes("unknown!"), leaf.raw()));
                set("counts", leaf.raw(), bytes("3"));
            }
            case ENDLESS_LEASE -> redis.zremrangeByRank(GraphFixture.key("leases"), 0, 0);
            case UNLISTED -> {
                set("values", stranger, bytes("doomed"));
                set("counts", stranger, bytes("0"));
            }
            case CYCLE -> {
                byte[] other = strangeId(2);
                set("values", stranger, bytes("a"));
                set("values", other, bytes("b"));
                set("edges", stranger, other);
                set("edges", other, stranger);
            }
            case BROKEN_LINE -> {
                ValueId inner = graph.children(top).getFirst();
                EdgeEntry alone = EdgeEntry.read(redis.hget(GraphFixture.key("edges", inner.raw()), inner.raw()), 16);
                EdgeEntry after = new EdgeEntry(alone.packed(), ValueId.of(stranger), null);
                set("edges", inner.raw(), after.write(16));
            }
            case UNREADABLE -> set("counts", top.raw(), bytes("many"));
        }
    }

    @Test
    void lostValueThatIsHeldKeepsItsChildren() {
        ValueId inner = graph.children(top).getFirst();
        redis.hdel(GraphFixture.key("values", inner.raw()), inner.raw());
        RepairReport repair = graph.inspect().repair(true, GraphProgress.NONE);
        assertThat(repair.left()).extracting(Finding::kind).contains(Kind.DANGLING_EDGE, Kind.ORPHAN_EDGES);
        fixture.drain();
        assertThat(graph.children(inner))
                .hasSize(4)
                .allSatisfy(child -> assertThat(graph.find(child)).isPresent());
    }

    @Test
    void whatChangesMeanwhileIsNotJudged() {
        AtomicBoolean done = new AtomicBoolean();
        VerifyReport report = graph.inspect().verify((phase, at, total) -> {
            if (phase.equals("edges") && done.compareAndSet(false, true)) {
                graph.root("main").drop(); // its value was seen with two holds: the root and the snapshot
                buildTree(graph, "new", 2, 3);
                fixture.drain();
            }
        });
        assertThat(done).isTrue();
        assertThat(report.findings()).isEmpty();
        assertThat(report.isVoid()).isFalse();
        assertThat(report.unjudged()).isPositive();
    }

    @Test
    void largeValueThatDrainsMeanwhileIsNotJudged() {
        graph.root("large").drop();
        for (String first : List.of("values", "counts", "edges", "roots")) {
            AtomicBoolean done = new AtomicBoolean();
            VerifyReport report = graph.inspect().verify((phase, at, total) -> {
                if (phase.equals(first) && done.compareAndSet(false, true)) {
                    graph.scripts().step(); // takes some chunks off, not all
                }
            });
            assertThat(report.findings()).as(first).isEmpty();
            assertThat(redis.hexists(GraphFixture.key("counts", large.raw()), large.raw()))
                    .isTrue();
        }
    }

    /** In whichever phase: new values that only their writer holds, and a hold that goes from the writer to a parent. */
    @Test
    void whatIsPutAndHandedOverMeanwhileIsNotJudged() {
        for (String first : List.of("values", "counts", "edges", "roots", "held", "leases")) {
            try (GraphWriter writer = graph.writer()) {
                ValueId child = writer.put(bytes("child"));
                writer.flush();
                AtomicBoolean done = new AtomicBoolean();
                VerifyReport report = graph.inspect().verify((phase, at, total) -> {
                    if (phase.equals(first) && done.compareAndSet(false, true)) {
                        writer.put(bytes("top"));
                        writer.put(bytes("parent"), child);
                        writer.flush();
                    }
                });
                assertThat(report.findings()).as(first).isEmpty();
            }
            fixture.drain();
        }
    }

    @Test
    void repairLeavesAloneWhatChangedAfterItWasSeen() {
        redis.hset(GraphFixture.key("counts", leaf.raw()), leaf.raw(), bytes("7"));
        InspectionScripts scripts = graph.inspectionScripts();
        RepairReport report = new Verifier(
                        scripts, graph.shelves(), "docs", 16, fixture.client.time(), GraphProgress.NONE)
                .run((verified, judged, session) -> {
                    assertThat(verified.counts()).containsOnlyKeys(Kind.OVERCOUNT);
                    graph.hold(leaf, Duration.ofMinutes(1));
                    return new Repairer(scripts, true, GraphProgress.NONE).repair(verified, judged, session);
                });
        assertThat(report.repaired()).isEmpty();
        assertThat(report.changed()).singleElement().extracting(Finding::kind).isEqualTo(Kind.OVERCOUNT);
        assertThat(redis.hget(GraphFixture.key("counts", leaf.raw()), leaf.raw()))
                .isEqualTo(bytes("8"));
    }

    @Test
    void onlyOneVerifyRunsAndOneThatDiedIsOverAtItsDeadline() {
        VerifySession.begin(graph.inspectionScripts(), "docs", note -> {});
        assertThatThrownBy(this::verify)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.RETRY));
        buildTree(graph, "noted", 2, 2);
        long noted = redis.scard(GraphFixture.key("changed"));
        assertThat(noted).isPositive();
        redis.hset(GraphFixture.key("meta"), bytes("verify"), bytes("on;1;dead"));
        buildTree(graph, "not noted", 2, 2);
        assertThat(redis.scard(GraphFixture.key("changed"))).isEqualTo(noted);
        assertThat(verify().isSound()).isTrue();
    }

    @Test
    void moreChangesThanCanBeNotedVoidTheVerdict() {
        redis.hset(GraphFixture.key("counts", top.raw()), top.raw(), bytes("7"));
        AtomicBoolean done = new AtomicBoolean();
        VerifyReport report = graph.inspect().verify((phase, at, total) -> {
            if (phase.equals("edges") && done.compareAndSet(false, true)) {
                byte[][] many = new byte[100_000][];
                for (int i = 0; i < many.length; i++) {
                    many[i] = strangeId(i);
                }
                redis.sadd(GraphFixture.key("changed"), many);
                buildTree(graph, "new", 2, 3);
            }
        });
        assertThat(report.isVoid()).isTrue();
        assertThat(report.isSound()).isFalse();
        assertThat(report.voided()).contains("too much changed");
        assertThat(report.findings()).as("no verdict, no findings").isEmpty();
    }

    @Test
    void replacedServerVoidsTheVerdict() {
        VerifySession session = VerifySession.begin(graph.inspectionScripts(), "docs", note -> {});
        redis.hdel(GraphFixture.key("meta"), bytes("verify")); // as in an earlier state of the store
        session.fetchAll();
        assertThat(session.voided()).isNotEmpty();
    }

    /** The hardest promise: writers, movers of roots, snapshots, lapses and drainers at once, and not one finding. */
    @Test
    void verifyUnderHeavyUseReportsNothingOnASoundGraph() throws Exception {
        buildTree(graph, "steady", 4, 8);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger sound = new AtomicInteger();
        List<Future<?>> work = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 3; i++) {
                int number = i;
                work.add(threads.submit(() -> churn(number, stop)));
            }
            for (int i = 0; i < 2; i++) {
                work.add(threads.submit(() -> {
                    while (!stop.get()) {
                        if (graph.scripts().step().pending() == 0) {
                            TimeUnit.MILLISECONDS.sleep(1);
                        }
                    }
                    return null;
                }));
            }
            long until =
                    System.nanoTime() + Duration.ofSeconds(minutes() * 60L + 4).toNanos();
            try {
                while (System.nanoTime() < until) {
                    VerifyReport report = verify();
                    assertThat(report.findings()).isEmpty();
                    sound.addAndGet(report.isSound() ? 1 : 0);
                }
            } finally {
                stop.set(true);
            }
            for (Future<?> each : work) {
                each.get();
            }
        }
        assertThat(sound).as("verdicts that were not void").hasPositiveValue();
        GraphFixture.lapseAll(redis);
        fixture.drain();
        assertThat(verify().isSound()).isTrue();
        assertThat(redis.hexists(GraphFixture.key("meta"), bytes("miscounts"))).isFalse();
    }

    /** On demand, {@code -Dvalues=1000000}: the memory that is promised, measured on a graph of that size. */
    @Test
    @EnabledIfSystemProperty(named = "values", matches = "\\d+")
    void largeGraphIsVerifiedWithinTheMemoryPromised() {
        int values = Integer.getInteger("values", 0);
        try (GraphWriter writer = graph.writer()) {
            List<ValueId> tops = new ArrayList<>();
            for (int made = 0; made < values; made += 101) {
                List<ValueId> leaves = new ArrayList<>();
                for (int i = 0; i < 100; i++) {
                    leaves.add(writer.put(bytes("leaf " + made + i)));
                }
                tops.add(writer.put(bytes("inner " + made), leaves));
            }
            graph.root("huge").set(writer.put(bytes("top"), tops));
        }
        VerifyReport report = verify();
        assertThat(report.isSound()).as(report::toString).isTrue();
        assertThat(report.values()).isGreaterThan(values);
        assertThat(report.bytesPerValue()).isLessThan(100);
        System.err.println(report);
    }

    private static int minutes() {
        return Integer.getInteger("minutes", 0);
    }

    private Void churn(int number, AtomicBoolean stop) {
        RandomGenerator random = RandomGenerator.getDefault();
        while (!stop.get()) {
            String root = "churn-" + number + "-" + random.nextInt(4);
            switch (random.nextInt(7)) {
                case 0 -> graph.root(root).drop();
                case 1 -> share(root, random);
                case 2, 3 -> nextVersion(root, random);
                case 4 -> {
                    GraphWriter dead = graph.writer(); // never closed: its lease lapses below
                    dead.put(bytes("abandoned"), dead.put(bytes("below")));
                    dead.flush();
                    lapse(dead.lease());
                }
                case 5 -> {
                    try (GraphWriter writer = graph.writer()) {
                        List<ValueId> children = new ArrayList<>();
                        for (int i = 0; i < 260; i++) {
                            children.add(writer.put(bytes("c" + i)));
                        }
                        graph.root(root).set(writer.put(bytes("many"), children));
                    }
                }
                default -> buildTree(graph, root, 3, 3);
            }
        }
        return null;
    }

    /** A new value over old ones, held by a snapshot meanwhile. */
    private void share(String root, RandomGenerator random) {
        try (Snapshot snapshot = graph.snapshot("steady");
                GraphWriter writer = graph.writer()) {
            List<ValueId> children = graph.children(snapshot.target());
            ValueId one = children.get(random.nextInt(children.size()));
            graph.root(root).set(writer.put(bytes("over"), one, one));
        }
    }

    /** Versions of a tree, put after each other; the root moves on to the last one, some time or in the same call. */
    private void nextVersion(String root, RandomGenerator random) {
        if (graph.root(root).target().isEmpty()) {
            return;
        }
        try (Snapshot snapshot = graph.snapshot(root);
                GraphWriter writer = graph.writer()) {
            ValueId version = snapshot.target();
            List<ValueId> children = snapshot.children(version);
            for (int i = 0; i < 3 && !children.isEmpty() && children.size() < 64; i++) {
                List<ValueId> next = new ArrayList<>(children);
                next.set(random.nextInt(next.size()), writer.put(bytes("new")));
                version = writer.put(bytes("version"), next, new Predecessor(version, children));
                children = next;
                if (random.nextBoolean()) {
                    writer.flush();
                }
            }
            graph.root(root).set(version);
        }
    }

    private void lapse(GraphLease lease) {
        try (Jedis jedis = SERVER.client()) {
            jedis.zadd(GraphFixture.key("leases"), 1, lease.id());
        }
    }

    private Map<String, Object> dump() {
        Map<String, Object> dump = new HashMap<>();
        for (byte[] key : redis.keys("hf:*".getBytes(java.nio.charset.StandardCharsets.US_ASCII))) {
            dump.put(
                    new String(key, java.nio.charset.StandardCharsets.US_ASCII),
                    List.of(ByteBuffer.wrap(redis.dump(key))));
        }
        return dump;
    }

    private static byte[] strangeId(int number) {
        return ByteBuffer.allocate(16)
                .putLong(0x0170_0000_0000_0000L)
                .putLong(number)
                .array();
    }

    private static byte[] concat(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }

    /** A graph whose ids are the hash of the content has ids of another width. */
    @Test
    void contentAddressedGraphIsVerifiedToo() {
        SERVER.server().flush();
        try (GraphFixture content = new GraphFixture(
                SERVER.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT))) {
            buildTree(content.graph, "main", 3, 4);
            VerifyReport report = content.graph.inspect().verify(GraphProgress.NONE);
            assertThat(report.isSound()).as(report::toString).isTrue();
            assertThat(report.values()).isEqualTo(3);
            redis.hset(GraphFixture.key("values"), new byte[32], bytes("nobody's"));
            assertThat(content.graph.inspect().verify(GraphProgress.NONE).counts())
                    .containsOnlyKeys(Kind.LEAK);
        }
    }
}
