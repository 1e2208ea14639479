package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.Settings;
import io.holdfast.testkit.FaultProxy;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** A root that moves on to the next version of what it names, in the call that puts the version. */
class NextVersionIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;
    private GraphWriter writer;
    private final List<Reclaimed> told = new ArrayList<>();

    @BeforeEach
    void open() {
        redis = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
        fixture.notices.add(told::add);
        graph = fixture.graph;
        writer = graph.writer();
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void onlyThePathEndsAndTheListenerIsToldAtOnce() {
        Version first = Version.put(writer, 4, 5);
        graph.root("main").set(first.id());
        Version second = first.next(writer);
        graph.root("main").set(second.id());
        assertThat(graph.inspect().statistics().doomed())
                .as("work that is left")
                .isZero();
        assertThat(told).singleElement().satisfies(one -> {
            assertThat(one.ids()).containsExactlyInAnyOrderElementsOf(first.pathIds());
            assertThat(one.reason()).isEqualTo(ReclaimReason.RELEASED);
            assertThat(one.evidence()).isEqualTo("root main moved on");
        });
        assertSoundWith(1 + 5 + 25 + 125);
        assertNothingIsLeftAfterDropping("main");
    }

    @Test
    void whatAnotherRootHoldsOfTheOldVersionStays() {
        Version first = Version.put(writer, 3, 4);
        graph.root("main").set(first.id());
        graph.root("kept").set(first.children().getFirst().id());
        Version second = first.next(writer);
        graph.root("main").set(second.id());
        assertThat(graph.find(first.children().getFirst().id())).isPresent();
        assertThat(graph.find(first.id())).isEmpty();
        assertSoundWith(1 + 4 + 16 + 2); // two of the old path stay
        assertNothingIsLeftAfterDropping("main", "kept");
    }

    @Test
    void oldVersionThatTheNewOneHoldsStaysWhole() {
        Version first = Version.put(writer, 3, 3);
        graph.root("main").set(first.id());
        graph.root("main").set(writer.put(bytes("above"), first.id(), first.id()));
        assertSoundWith(1 + 1 + 3 + 9);
        assertNothingIsLeftAfterDropping("main");
    }

    @Test
    void childrenThatAreListedSeveralTimesAreCountedAsOften() {
        ValueId leaf = writer.put(bytes("leaf"));
        ValueId inner = writer.put(bytes("inner"), leaf, leaf);
        graph.root("main").set(writer.put(bytes("one"), inner, inner, inner, leaf));
        graph.root("main").set(writer.put(bytes("two"), inner, leaf, leaf, leaf));
        assertSoundWith(3);
        graph.root("main").set(writer.put(bytes("three"), Collections.nCopies(200, inner)));
        assertSoundWith(3);
        graph.root("main").set(writer.put(bytes("four"), leaf));
        fixture.drain();
        assertSoundWith(2);
        assertNothingIsLeftAfterDropping("main");
    }

    @Test
    void moreThanACallMayEndIsLeftToSteps() {
        Version first = Version.put(writer, 4, 5);
        graph.root("main").set(first.id());
        graph.root("main").set(writer.put(bytes("nothing of it")));
        assertThat(graph.inspect().statistics().doomed()).isPositive();
        fixture.drain();
        assertSoundWith(1);
        assertNothingIsLeftAfterDropping("main");
    }

    @Test
    void rootThatAnotherClientMovedIsNotMovedByWhoSawTheOldOne() {
        Version first = Version.put(writer, 2, 3);
        graph.root("main").set(first.id());
        Root.State seen = graph.root("main").read();
        try (GraphFixture other = new GraphFixture(server.uri().toString(), Settings.none());
                GraphWriter others = other.graph.writer()) {
            other.graph.root("main").set(others.put(bytes("another's")));
        }
        ValueId late = writer.put(bytes("late"));
        assertThat(graph.root("main").compareAndSet(seen, late)).isPresent();
        assertThat(graph.find(graph.root("main").target().orElseThrow())).contains(bytes("another's"));
        assertThat(graph.find(late)).as("its writer holds it").isPresent();
    }

    @Test
    void nothingIsFreedWhileTheStoreIsNew() {
        Version first = Version.put(writer, 2, 3);
        graph.root("main").set(first.id());
        redis.hset(GraphFixture.key("meta"), bytes("quiet"), bytes("99999999999999"));
        graph.root("main").set(writer.put(bytes("next")));
        assertThat(graph.find(first.id())).isPresent();
        redis.hset(GraphFixture.key("meta"), bytes("quiet"), bytes("0"));
        fixture.drain();
        assertSoundWith(1);
    }

    @Test
    void nothingIsFreedUnderAMark() {
        Version first = Version.put(writer, 2, 3);
        graph.root("main").set(first.id());
        try (GraphMark mark = graph.mark()) {
            graph.root("main")
                    .set(writer.put(bytes("next"), first.children().getFirst().id()));
            assertThat(graph.find(first.id())).isPresent();
            mark.check();
        }
        fixture.drain();
        assertSoundWith(2);
    }

    @Test
    void verifyDoesNotJudgeWhatChangesHandsMeanwhile() {
        Version[] version = {Version.put(writer, 4, 4)};
        graph.root("main").set(version[0].id());
        for (String first : List.of("values", "counts", "edges", "roots")) {
            AtomicBoolean done = new AtomicBoolean();
            VerifyReport report = graph.inspect().verify((phase, at, total) -> {
                if (phase.equals(first) && done.compareAndSet(false, true)) {
                    version[0] = version[0].next(writer);
                    graph.root("main").set(version[0].id());
                }
            });
            assertThat(report.findings()).as(first).isEmpty();
        }
    }

    /** Whether the root or the writer holds it is not known to the writer then; a parent may have it all the same. */
    @Test
    void valueWhoseNamingWasNotAnsweredCanBecomeAChild() {
        try (FaultProxy proxy = FaultProxy.to(server.server());
                GraphFixture other = new GraphFixture(proxy.uri().toString(), Settings.none());
                GraphWriter others = other.graph.writer()) {
            Root root = other.graph.root("main");
            root.set(others.put(bytes("first")));
            ValueId second = others.put(bytes("second"));
            proxy.dropReply("EVALSHA", 1);
            assertThat(catchThrowableOfType(HoldfastException.class, () -> root.set(second)))
                    .extracting(HoldfastException::category)
                    .isEqualTo(Category.RETRY);
            others.flush();
            root.set(others.put(bytes("third"), second));
            others.flush();
            assertThat(other.graph.children(root.target().orElseThrow())).containsExactly(second);
        }
        fixture.drain();
        assertSoundWith(2);
        assertNothingIsLeftAfterDropping("main");
    }

    private void assertSoundWith(long values) {
        assertThat(graph.inspect().statistics().values()).isEqualTo(values);
        VerifyReport report = graph.inspect().verify((phase, done, total) -> {});
        assertThat(report.findings()).isEmpty();
        assertThat(report.isSound()).isTrue();
    }

    private void assertNothingIsLeftAfterDropping(String... roots) {
        writer.close();
        for (String root : roots) {
            assertThat(graph.root(root).drop()).isTrue();
        }
        fixture.drain();
        assertThat(GraphFixture.parts(redis)).allSatisfy((part, size) -> {
            if (!part.startsWith("lease")) {
                assertThat(size).as(part).isZero();
            }
        });
        assertThat(redis.hget(GraphFixture.key("meta"), bytes("edges"))).isEqualTo(bytes("0"));
    }

    /** A full tree, as its client knows it. */
    private record Version(ValueId id, List<Version> children) {

        static Version put(GraphWriter writer, int levels, int fanOut) {
            List<Version> children = new ArrayList<>();
            for (int i = 0; i < fanOut && levels > 1; i++) {
                children.add(put(writer, levels - 1, fanOut));
            }
            return put(writer, children);
        }

        private static Version put(GraphWriter writer, List<Version> children) {
            byte[] value = bytes("level above " + children.size() + " " + System.nanoTime());
            return new Version(
                    writer.put(value, children.stream().map(Version::id).toList()), children);
        }

        /** New values on the path of first children. */
        Version next(GraphWriter writer) {
            List<Version> next = new ArrayList<>(children);
            if (!next.isEmpty()) {
                next.set(0, next.getFirst().next(writer));
            }
            return put(writer, next);
        }

        List<String> pathIds() {
            List<String> ids = new ArrayList<>(List.of(id.toString()));
            if (!children.isEmpty()) {
                ids.addAll(children.getFirst().pathIds());
            }
            return ids;
        }
    }
}
