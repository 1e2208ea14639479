package io.holdfast.redis.graph.write;

import static io.holdfast.redis.graph.write.GraphClient.PREFIX;
import static io.holdfast.redis.graph.write.GraphClient.bytes;
import static io.holdfast.redis.graph.write.GraphClient.put;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.graph.read.Holds.Held;
import io.holdfast.redis.graph.reclaim.Drainer;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.Store.Stepped;
import io.holdfast.redis.graph.write.Roots.Change;
import io.holdfast.redis.graph.write.Roots.Outcome;
import io.holdfast.redis.graph.write.Roots.State;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Clients of one graph on a server that answers. */
class GraphClientIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private final Random random = new Random(7);
    private RedisLink link;
    private Jedis redis;
    private GraphClient one;
    private GraphClient two;

    @BeforeEach
    void open() {
        link = RedisLink.connect(
                Settings.none().set(LinkSettings.URI, server.uri().toString()));
        redis = server.client();
        one = new GraphClient(link, "one", random);
        two = new GraphClient(link, "two", random);
    }

    @AfterEach
    void close() {
        redis.close();
        link.close();
    }

    /** Reclaims until nothing is left to do; answers how many steps that took. */
    private int drain(Drainer drainer) {
        for (int steps = 1; steps < 100_000; steps++) {
            Stepped stepped = drainer.stepOnce();
            if (stepped.status().equals("QUIET")) { // a new graph, or a machine that stood still
                redis.hset(PREFIX + "meta", "quiet", "0");
            } else if (stepped.left() == 0) {
                return steps;
            }
        }
        throw new AssertionError("a hundred thousand steps and still something to do");
    }

    private long values() {
        String values = redis.hget(PREFIX + "meta", "values");
        return values == null ? 0 : Long.parseLong(values);
    }

    private void assertNothingIsLeft() {
        assertThat(values()).isZero();
        Set<String> parts = new TreeSet<>();
        redis.keys(PREFIX.replace("{", "\\{").replace("}", "\\}") + "*")
                .forEach(key -> parts.add(key.substring(PREFIX.length())));
        parts.removeIf(part -> part.startsWith("lease"));
        assertThat(parts).isSubsetOf("meta", "ledger", "lengths");
    }

    @Test
    void valuesComeBackAsTheyWerePutAndGoWithTheirRoot() {
        Writer writer = one.writer();
        List<Place> leaves = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            leaves.add(put(writer, "leaf " + i));
        }
        Place page = put(writer, "page", leaves.toArray(Place[]::new));
        Place empty = put(writer, "", page, page);
        one.roots.set("main", null, empty);
        assertThat(two.reader.get(empty).bytes()).isEmpty();
        assertThat(two.reader.get(empty).children()).containsExactly(page, page);
        assertThat(two.reader.get(page).children()).isEqualTo(leaves);
        assertThat(two.reader.get(leaves.get(999)).bytes()).isEqualTo(bytes("leaf 999"));
        List<Place> walked = new ArrayList<>();
        two.reader.walk(empty, (place, value) -> walked.add(place), () -> {});
        assertThat(walked).hasSize(1_002).doesNotHaveDuplicates();
        writer.close();
        assertThat(one.roots.drop("main")).isTrue();
        drain(one.drainer);
        assertNothingIsLeft();
    }

    @Test
    void largeValueComesBackWholeAndItsInnerNodesAreNotShown() {
        byte[] large = new byte[12 << 20];
        random.nextBytes(large);
        List<Place> children = new ArrayList<>();
        try (Writer writer = one.writer()) {
            for (int i = 0; i < 600; i++) {
                children.add(put(writer, "child " + i));
            }
            one.roots.set("main", null, Splitter.put(writer, large, children));
        }
        Place top = one.roots.read("main").target().orElseThrow();
        assertThat(two.reader.get(top).bytes()).isEqualTo(large);
        assertThat(two.reader.get(top).children()).isEqualTo(children);
        List<Place> walked = new ArrayList<>();
        two.reader.walk(top, (place, value) -> walked.add(place), () -> {});
        assertThat(walked).hasSize(601);
        one.roots.drop("main");
        drain(one.drainer);
        assertNothingIsLeft();
    }

    @Test
    void chainAndShuffledChildrenAreReclaimedWhole() {
        try (Writer writer = one.writer()) {
            Place last = put(writer, "0");
            for (int i = 1; i < 3_000; i++) {
                last = put(writer, "link", last);
            }
            List<Place> leaves = new ArrayList<>();
            for (int i = 0; i < 3_000; i++) {
                leaves.add(put(writer, "leaf " + i));
            }
            Collections.shuffle(leaves, random);
            Place wide = put(writer, "wide", leaves.toArray(Place[]::new));
            one.roots.set("main", null, put(writer, "both", last, wide, last));
        }
        one.roots.drop("main");
        drain(one.drainer);
        assertNothingIsLeft();
    }

    /** G1: a writer that is kept open pins nothing that a root has let go, also after a change that was refused. */
    @Test
    void writersThatSetTheSameRootByTurnsPinNoOldVersion() {
        Writer first = one.writer();
        Writer second = two.writer();
        for (int i = 0; i < 50; i++) {
            one.roots.set("main", null, put(first, "one " + i));
            two.roots.set("main", null, put(second, "two " + i));
            Place lost = put(first, "lost " + i);
            State stale = new State(java.util.Optional.empty(), "stale", java.util.Optional.empty(), "");
            assertThat(one.roots.change(List.of(new Change("main", stale, lost))))
                    .isInstanceOf(Outcome.Changed.class);
            first.release(List.of(lost));
        }
        drain(one.drainer);
        assertThat(values()).isEqualTo(1);
    }

    /** G15: a child that another writer of this process has not sent yet is sent first. */
    @Test
    void childOfAnotherWriterIsSentBeforeItsParent() {
        Writer first = one.writer();
        Writer second = one.writer();
        Place child = put(first, "child");
        Place parent = put(second, "parent", child);
        second.flush();
        assertThat(two.reader.get(parent).children()).containsExactly(child);
    }

    @Test
    void childThatIsGoneFailsItsParentAndNotTheWriter() {
        Writer writer = one.writer();
        Place old = put(writer, "old");
        writer.flush();
        writer.release(List.of(old));
        drain(one.drainer);
        Place good = put(writer, "good");
        Place bad = put(writer, "bad", old);
        Place worse = put(writer, "worse", bad, good);
        Place other = put(writer, "other", good);
        assertThatThrownBy(writer::flush)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE))
                .hasMessageContaining(bad.toString())
                .hasMessageContaining(worse.toString());
        writer.flush();
        assertThat(one.reader.find(worse)).isEmpty();
        one.roots.set("main", null, other);
        assertThat(one.reader.get(other).children()).containsExactly(good);
        writer.close();
        drain(one.drainer);
        assertThat(values()).isEqualTo(2);
    }

    @Test
    void severalRootsChangeInOneCallOrNoneDoes() {
        Writer writer = one.writer();
        Place value = put(writer, "value");
        State absent = one.roots.read("a");
        Outcome outcome = one.roots.change(List.of(new Change("a", absent, value), new Change("b", absent, value)));
        assertThat(outcome).isInstanceOf(Outcome.Done.class);
        assertThat(two.roots.readAll("")).containsOnlyKeys("a", "b");
        State a = two.roots.read("a");
        assertThat(a.by()).startsWith("one#");
        assertThat(a.when()).isPresent();
        outcome = two.roots.change(List.of(new Change("a", a, null), new Change("b", absent, value)));
        assertThat(outcome).isInstanceOf(Outcome.Changed.class);
        assertThat(two.roots.read("a").target()).contains(value);
        State b = two.roots.read("b");
        two.roots.change(List.of(new Change("a", a, null), new Change("b", b, null)));
        writer.close();
        drain(one.drainer);
        assertNothingIsLeft();
    }

    @Test
    void heldValueOutlivesItsRootUntilTheHoldIsClosed() {
        Writer writer = one.writer();
        Place leaf = put(writer, "leaf");
        one.roots.set("main", null, put(writer, "page", leaf));
        Held held = two.holds.hold(one.roots.read("main").target().orElseThrow(), GraphClient.LEASE);
        one.roots.drop("main");
        drain(one.drainer);
        assertThat(two.reader.get(leaf).bytes()).isEqualTo(bytes("leaf"));
        assertThat(held.isValid()).isTrue();
        held.close();
        drain(one.drainer);
        writer.close();
        assertNothingIsLeft();
        assertThatThrownBy(() -> two.holds.hold(leaf, GraphClient.LEASE)).isInstanceOf(HoldfastException.class);
    }

    /** What only a dead client holds goes when its lease is past its deadline, in two calls. */
    @Test
    void leaseOfADeadClientLapses() throws Exception {
        Writer writer = one.writer();
        put(writer, "orphan");
        writer.flush();
        redis.zrange(PREFIX + "leases", 0, -1).forEach(lease -> redis.zadd(PREFIX + "leases", 1, lease));
        redis.hset(PREFIX + "meta", "quiet", "0");
        for (int i = 0; i < 6; i++) {
            redis.zrange(PREFIX + "leases", 0, -1).forEach(lease -> redis.zadd(PREFIX + "leases", 1, lease));
            two.drainer.step();
        }
        assertNothingIsLeft();
        assertThatThrownBy(() -> {
                    put(writer, "late");
                    writer.flush();
                })
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.LAPSED));
    }

    /** G7: many small roots are reclaimed in few steps. */
    @Test
    void twoThousandSmallRootsAreReclaimedInFewSteps() {
        try (Writer writer = one.writer()) {
            for (int i = 0; i < 2_000; i++) {
                Place leaf = put(writer, "leaf " + i);
                one.roots.set(
                        "session " + i,
                        new State(java.util.Optional.empty(), "0", java.util.Optional.empty(), ""),
                        put(writer, "top", leaf, leaf));
            }
        }
        List<Change> drops = new ArrayList<>();
        one.roots.readAll("session ").forEach((name, state) -> drops.add(new Change(name, state, null)));
        assertThat(drops).hasSize(2_000);
        for (int from = 0; from < drops.size(); from += 500) {
            assertThat(one.roots.change(drops.subList(from, from + 500))).isInstanceOf(Outcome.Done.class);
        }
        assertThat(drain(one.drainer)).isLessThan(200);
        assertNothingIsLeft();
    }

    /** G2: what is left of crashed clients on a full server can be reclaimed by a client that comes new. */
    @Test
    void newClientOpensDropsAndDrainsOnAFullServer() {
        try (Writer writer = one.writer()) {
            List<Place> leaves = new ArrayList<>();
            for (int i = 0; i < 5_000; i++) {
                leaves.add(put(writer, "leaf of some length, so that memory counts " + i));
            }
            one.roots.set("main", null, Splitter.put(writer, bytes("top"), leaves));
        }
        redis.scriptFlush();
        redis.hset(PREFIX + "meta", "quiet", "0");
        redis.configSet("maxmemory", "1mb");
        try {
            GraphClient three = new GraphClient(link, "three", random);
            assertThat(three.roots.drop("main")).isTrue();
            drain(three.drainer);
            assertNothingIsLeft();
        } finally {
            redis.configSet("maxmemory", "0");
        }
    }

    /** G13: a writer whose batches were lost by the server, but not its lease, is told so. */
    @Test
    void writerWhoseBatchesTheServerLostIsTold() {
        Writer writer = one.writer();
        put(writer, "first");
        writer.flush();
        put(writer, "second");
        writer.flush();
        String lease = redis.zrange(PREFIX + "leases", 0, -1).getFirst();
        redis.hset(PREFIX + "lease:" + lease, "seq", "1"); // as an earlier state of the server has it
        put(writer, "third");
        assertThatThrownBy(writer::flush)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.LAPSED));
    }

    /** G8: a count that is missing frees nothing. */
    @Test
    void segmentWhoseCountsAreMissingIsLeftToVerify() {
        Writer writer = one.writer();
        List<Place> leaves = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leaves.add(put(writer, "leaf " + i));
        }
        one.roots.set("a", null, put(writer, "a", leaves.getFirst()));
        writer.flush();
        String counts = PREFIX + "c:" + leaves.getFirst().segment();
        assertThat(redis.exists(counts)).isTrue();
        redis.del(counts);
        one.roots.drop("a");
        drain(one.drainer);
        assertThat(redis.exists(PREFIX + "v:" + leaves.getFirst().segment())).isTrue();
        assertThat(Long.parseLong(redis.hget(PREFIX + "meta", "miscounts"))).isPositive();
    }

    /** Reads ask for both forms of a segment. */
    @Test
    void packedSegmentIsReadLikeAWholeOne() {
        Writer writer = one.writer();
        List<Place> leaves = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leaves.add(put(writer, "leaf " + i));
        }
        Place page = put(writer, "page", leaves.get(3), leaves.get(50));
        one.roots.set("main", null, page);
        writer.close();
        drain(one.drainer);
        assertThat(redis.exists(PREFIX + "v:" + page.segment())).isTrue();
        assertThat(one.store.pack(page.segment(), 24, 10_000)).isTrue();
        assertThat(redis.exists(PREFIX + "v:" + page.segment())).isFalse();
        assertThat(two.reader.get(page).children()).containsExactly(leaves.get(3), leaves.get(50));
        assertThat(two.reader.get(leaves.get(50)).bytes()).isEqualTo(bytes("leaf 50"));
        one.roots.drop("main");
        drain(one.drainer);
        assertNothingIsLeft();
    }
}
