package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.buildTree;
import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.redis.graph.GraphScripts.RootChange;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.testkit.FaultProxy;
import io.holdfast.testkit.RedisCluster;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** What went wrong with reference counting on Redis before, each shown not to happen here. */
class PeerDefectsIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private GraphFixture fixture;
    private ValueGraph graph;

    @BeforeEach
    void open() {
        redis = server.client();
        fixture = new GraphFixture(server.uri().toString(), Settings.none());
        graph = fixture.graph;
    }

    @AfterEach
    void close() {
        fixture.close();
        redis.close();
    }

    @Test
    void settingARootAgainToTheSameValueDoesNotLeak() {
        ValueId page = buildTree(graph, "main", 2, 3);
        for (int i = 0; i < 5; i++) {
            graph.root("main").set(page);
        }
        graph.root("main").drop();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    @Test
    void repeatedDropFreesNothingThatOthersHold() {
        ValueId page = buildTree(graph, "main", 2, 3);
        graph.root("other").set(page);
        Root.State seen = graph.root("main").read();
        for (int i = 0; i < 3; i++) {
            graph.scripts().root(new RootChange("main", seen.version(), seen.floor(), new byte[0], "00ff"), null);
        }
        fixture.drain();
        assertThat(graph.find(page)).isPresent();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(4);
    }

    @Test
    void lateDropCannotTouchANewerRootOfTheSameName() {
        buildTree(graph, "main", 1, 1);
        Root.State seen = graph.root("main").read();
        ValueId newer = buildTree(graph, "main", 1, 1);
        graph.scripts().root(new RootChange("main", seen.version(), seen.floor(), new byte[0], "00ff"), null);
        assertThat(graph.root("main").target()).contains(newer);
        graph.root("main").drop();
        try (GraphWriter writer = graph.writer()) {
            ValueId again = writer.put(bytes("again"));
            writer.flush();
            // A set that was sent when there was no root yet, and arrives after one came and went.
            assertThat(graph.scripts()
                            .root(new RootChange("main", "0", seen.floor(), again.raw(), "00fe"), null)
                            .status())
                    .isEqualTo("CHANGED");
            assertThat(graph.root("main").target()).isEmpty();
        }
    }

    @Test
    void edgeToAFreedChildIsRefusedAndNothingIsWritten() {
        ValueId page = buildTree(graph, "main", 1, 1);
        graph.root("main").drop();
        fixture.drain();
        try (GraphWriter writer = graph.writer()) {
            writer.put(bytes("sibling in the same batch"));
            writer.put(bytes("parent"), page);
            assertThatThrownBy(writer::flush).isInstanceOfSatisfying(HoldfastException.class, e -> {
                assertThat(e.category()).isEqualTo(Category.GONE);
                assertThat(e.getMessage()).contains(page.toString());
            });
        }
        assertThat(GraphFixture.count(redis, "values")).isZero();
    }

    @Test
    void edgeToADoomedChildThatIsNotYetFreedIsRefused() {
        ValueId page = buildTree(graph, "main", 3, 3);
        graph.root("main").drop();
        try (GraphWriter writer = graph.writer()) {
            writer.put(bytes("parent"), page);
            assertThatThrownBy(writer::flush).hasMessageContaining("already reclaimed");
        }
    }

    /** In the peer an old expiry entry frees a later life of the same key: here a lease is never used twice. */
    @Test
    void lapseOfAnOldHoldCannotFreeALaterLifeOfTheSameContent() {
        Settings content = Settings.none().set(GraphSettings.ADDRESSING, Addressing.CONTENT);
        redis.flushAll();
        try (GraphFixture addressed = new GraphFixture(server.uri().toString(), content)) {
            ValueGraph values = addressed.graph;
            ValueId first;
            Hold hold;
            try (GraphWriter writer = values.writer()) {
                first = writer.put(bytes("content"));
                hold = values.hold(first, Duration.ofMinutes(1));
            }
            assertThat(hold.isValid()).isTrue();
            GraphFixture.lapseAll(redis);
            addressed.drain();
            assertThat(values.find(first)).isEmpty();
            try (GraphWriter writer = values.writer()) {
                ValueId second = writer.put(bytes("content"));
                assertThat(second).isEqualTo(first);
                values.root("main").set(second);
            }
            hold.close();
            addressed.drain();
            assertThat(values.find(first)).isPresent();
        }
    }

    @Test
    void droppingWhatIsNoRootDeletesNothing() {
        ValueId page = buildTree(graph, "main", 2, 2);
        assertThat(graph.root(page.toString()).drop()).isFalse();
        assertThat(graph.root("unknown").drop()).isFalse();
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isEqualTo(3);
    }

    /** The peer's script died in mid-cascade and left the children behind. Here a step that died is a step less. */
    @Test
    void cascadeGoesOnAfterAnyNumberOfInterruptedSteps() {
        buildTree(graph, "main", 5, 4);
        graph.root("main").drop();
        try (FaultProxy proxy = FaultProxy.to(server.server())) {
            GraphFixture cutOff = new GraphFixture(proxy.uri().toString(), Settings.none());
            for (int i = 0; i < 3; i++) {
                proxy.dropReply("EVALSHA", 1);
                assertThatThrownBy(() -> cutOff.graph.scripts().step()).isInstanceOf(HoldfastException.class);
                proxy.pass();
            }
            cutOff.close();
        }
        fixture.drain();
        assertThat(GraphFixture.count(redis, "values")).isZero();
        assertThat(GraphFixture.count(redis, "edges")).isZero();
    }

    @Test
    void rootCanBeDroppedAndReclaimedWhenMemoryIsFull() {
        buildTree(graph, "main", 4, 6);
        server.server().maxmemory("1");
        try {
            GraphWriter writer = graph.writer();
            writer.put(bytes("no room for this"));
            assertThatThrownBy(writer::flush)
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.FULL));
            assertThat(graph.root("main").drop()).isTrue();
            assertThat(fixture.drain()).isEqualTo(259);
        } finally {
            server.server().maxmemory("0");
        }
    }

    @Test
    void cycleCannotBeMade() {
        // A child must be alive when its parent is put, and the parent's id is not known before: a value that names
        // itself, or one that is put later, is refused.
        try (GraphWriter writer = graph.writer()) {
            ValueId unknown = Addressing.timeOrdered(io.holdfast.Time.system(), 0, false);
            writer.put(bytes("names what does not exist yet"), unknown);
            assertThatThrownBy(writer::flush)
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.category()).isEqualTo(Category.GONE));
        }
    }

    @Test
    void idleClientAsksNoMoreThanOnceASecond() {
        List<Duration> pauses = new ArrayList<>();
        try (Snapshot snapshot = openSnapshot()) {
            assertThat(snapshot.isValid()).isTrue();
            CascadeDuty duty = fixture.cascade();
            for (int i = 0; i < 20; i++) {
                Duty.Step step = duty.step();
                pauses.add(step.next());
            }
        }
        assertThat(pauses)
                .allSatisfy(pause -> assertThat(pause).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(5)));
    }

    private Snapshot openSnapshot() {
        buildTree(graph, "main", 1, 1);
        return graph.snapshot("main");
    }

    @Test
    void loopSurvivesExceptionsAndGoesOnWhenTheStoreIsBack() {
        buildTree(graph, "main", 3, 4);
        DutyRunner runner = DutyRunner.start(1);
        try (FaultProxy proxy = FaultProxy.to(server.server());
                GraphFixture other = new GraphFixture(proxy.uri().toString(), Settings.none())) {
            proxy.cut();
            CascadeDuty duty = other.cascade();
            duty.startOn(runner);
            graph.root("main").drop();
            proxy.pass();
            duty.wakeIn(Duration.ZERO);
            await().atMost(Duration.ofSeconds(20)).until(() -> GraphFixture.count(redis, "values") == 0);
        } finally {
            runner.close();
        }
    }

    @Test
    void clientWithAWrongClockNeitherLosesNorKeepsAnything() {
        // A client whose wall clock is an hour off: only its ids are in another order.
        io.holdfast.ManualTime wrong = new io.holdfast.ManualTime();
        io.holdfast.redis.link.Client client = new io.holdfast.redis.link.Client(
                fixture.link, fixture.duties, fixture.notices, fixture.client.self(), Settings.none(), wrong);
        try (ValueGraph other = ValueGraph.open(client, GraphFixture.NAME, null)) {
            ValueId page = buildTree(other, "main", 2, 2);
            wrong.setWall(wrong.instant().plus(Duration.ofHours(1)));
            try (Snapshot snapshot = other.snapshot("main")) {
                assertThat(snapshot.get(page)).isNotEmpty();
            }
            fixture.drain();
            assertThat(graph.find(page)).isPresent();
            other.root("main").drop();
            fixture.drain();
            assertThat(GraphFixture.count(redis, "values")).isZero();
        }
    }

    @Test
    void inAClusterAllPartsOfAGraphAreInOneSlotAndGraphsAreSpread() {
        Set<Integer> slots = new HashSet<>();
        for (String part : new String[] {
            "meta", "values:0", "values:63", "counts:7", "edges:9", "roots", "leases", "held", "doomed"
        }) {
            slots.add(RedisCluster.slot(new String(
                    new Keyspace("graph", "docs", 0).key(part), java.nio.charset.StandardCharsets.US_ASCII)));
        }
        assertThat(slots).hasSize(1);
        try (RedisCluster cluster = RedisCluster.start()) {
            String uri = "redis-cluster://" + cluster.addresses().getFirst();
            Set<Integer> servers = new HashSet<>();
            try (io.holdfast.redis.Holdfast holdfast = io.holdfast.redis.Holdfast.connect(uri)) {
                for (int i = 0; i < 12; i++) {
                    ValueGraph spread = holdfast.graph("g" + i);
                    ValueId page = buildTree(spread, "main", 3, 3);
                    assertThat(spread.find(page)).isPresent();
                    spread.root("main").drop();
                    await().until(() -> spread.find(page).isEmpty());
                    servers.add(cluster.masterOf("hf:{graph:g" + i + ":0}:meta").port());
                }
            }
            assertThat(servers).hasSize(3);
        }
    }
}
