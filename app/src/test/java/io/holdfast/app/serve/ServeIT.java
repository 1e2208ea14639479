package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.app.Main;
import io.holdfast.app.wiring.PieceLeaf;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.slab.SlabCache;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.SharedRedis;
import io.micrometer.core.instrument.Meter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The daemon, in this process and in one of its own. */
class ServeIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    @RegisterExtension
    final Daemons daemons = new Daemons(REDIS);

    private Path node(PieceId piece) throws IOException {
        Path root = daemons.at("n1");
        try (StorageNode node = StorageNode.at(root, "n1").open()) {
            node.put(new OwnerId("docs"), piece, new ByteArrayInputStream(new byte[10]));
        }
        return root;
    }

    @Test
    void theDaemonDoesWhatItIsToldForEveryPartAndItsMetricsAreThoseOfThePage() throws Exception {
        PieceId piece = PieceId.of(new byte[32]);
        Path node = node(piece);
        Path slab = daemons.at("pages");
        try (SlabCache cache = SlabCache.open(slab, SlabCache.mebibytes(4));
                Holdfast holdfast = Holdfast.connect(REDIS.uri().toString())) {
            cache.put(new byte[] {1}, new byte[] {2});
            ValueId leaf = putADocument(holdfast, piece);
            Sessions readers = holdfast.sessions("readers")
                    .lease(Duration.ofSeconds(1))
                    .grace(Duration.ZERO)
                    .start();
            SessionHold hold = readers.acquire("ada");
            holdfast.aggregates("visits", Long.class, Long::sum).start();
            new SessionSnapshots(holdfast, "readers", "docs").take(hold, "main").close();
            try (Daemon daemon = daemons.start(
                    "serve.graphs = docs",
                    "serve.session-snapshots = readers:docs",
                    "serve.aggregates = visits",
                    "serve.caches = " + cache.file(),
                    "serve.sweep.catalogue = graph:docs",
                    "serve.sweep.nodes = " + node)) {
                daemons.awaitReady(daemon);
                assertThat(daemons.detail(daemon, "sweep")).startsWith("cycle 1: 1 pieces examined");
                assertThat(daemons.detail(daemon, "graph docs")).contains("2 values");
                holdfast.graph("docs").root("main").drop();
                hold.close();
                readers.close();
                holdfast.graph("docs").close(); // from now on only the daemon reclaims
                await().atMost(Daemons.PATIENCE)
                        .until(() -> holdfast.graph("docs").find(leaf).isEmpty());
                assertMetricsAreThoseOfThePage(daemon);
                assertThat(daemons.get(daemon, "/metrics").body())
                        .contains("holdfast_graph_values{graph=\"docs\"}")
                        .contains("holdfast_part_up{part=\"sweep\"} 1.0")
                        .contains("holdfast_sessions_closed_total{set=\"readers\"} 1.0");
            }
        }
    }

    /** Both ways: what the page lists is measured, and what is measured is listed. */
    private static void assertMetricsAreThoseOfThePage(Daemon daemon) throws IOException {
        await().atMost(Daemons.PATIENCE)
                .until(() -> daemon.registry().find("holdfast.reclaimed").counter() != null);
        daemon.parts().getFirst(); // duty failures appear with the first one
        new DaemonMeters(daemon.registry()).onFailure(daemon.parts().getFirst(), new IOException(), 1);
        TreeSet<String> measured = new TreeSet<>();
        for (Meter meter : daemon.registry().getMeters()) {
            measured.add(meter.getId().getName());
        }
        TreeSet<String> listed = new TreeSet<>();
        String page = Files.readString(Path.of(System.getProperty("holdfast.root"), "docs", "operating.md"));
        Matcher row = Pattern.compile("(?m)^\\| `(holdfast\\.[a-z.]+)`").matcher(page);
        while (row.find()) {
            listed.add(row.group(1));
        }
        assertThat(listed).isEqualTo(measured);
    }

    private static ValueId putADocument(Holdfast holdfast, PieceId piece) {
        ValueGraph docs = holdfast.graph("docs");
        try (GraphWriter writer = docs.writer()) {
            ValueId leaf = writer.put(PieceLeaf.of(List.of(new PieceLeaf.Piece(new NodeId("n1"), piece))));
            docs.root("main").set(writer.put(new byte[] {1}, leaf));
            return leaf;
        }
    }

    @Test
    void whatADeadInstanceServedHasTheGraceOfItsApplicationAndNotOfTheDaemon() throws Exception {
        try (Holdfast observer = Holdfast.connect(REDIS.uri().toString())) {
            Holdfast dying = Holdfast.connect(REDIS.uri().toString());
            Sessions rooms = dying.sessions("rooms")
                    .lease(Duration.ofSeconds(1))
                    .grace(Duration.ofMinutes(10))
                    .start();
            SessionHold hold = rooms.acquire("ada");
            try (Daemon daemon = daemons.start("serve.sessions = rooms")) {
                daemons.awaitReady(daemon);
                dying.duties().close(); // nothing is renewed any more, as after a crash
                assertThat(hold.id()).isEqualTo("ada");
                HoldView view = observer.sessions("rooms").look().orElseThrow();
                await().atMost(Daemons.PATIENCE)
                        .until(() -> !view.list(HoldView.State.GRACE, 1).isEmpty());
                assertThat(view.list(HoldView.State.GRACE, 1))
                        .allMatch(life ->
                                life.dueInMillis() > Duration.ofMinutes(9).toMillis());
            }
        }
    }

    @Test
    void twoDaemonsShareTheWorkAndRunOneCycleInAnInterval() throws Exception {
        Path node = node(PieceId.of(new byte[32]));
        try (Holdfast holdfast = Holdfast.connect(REDIS.uri().toString())) {
            putADocument(holdfast, PieceId.of(new byte[32]));
        }
        String[] lines = {
            "serve.graphs = docs", "serve.sweep.catalogue = graph:docs", "serve.sweep.nodes = " + node,
        };
        try (Daemon first = daemons.start(lines);
                Daemon second = daemons.start(lines)) {
            daemons.awaitReady(first);
            daemons.awaitReady(second);
            List<String> details = List.of(daemons.detail(first, "sweep"), daemons.detail(second, "sweep"));
            assertThat(details)
                    .filteredOn(detail -> detail.startsWith("cycle 1"))
                    .hasSize(1);
            assertThat(details)
                    .filteredOn(detail -> detail.startsWith("no cycle yet"))
                    .hasSize(1);
        }
        try (StorageNode open = StorageNode.at(node, "n1").open()) {
            assertThat(open.lastCycle(new OwnerId("docs"))).isEqualTo(1);
        }
    }

    @Test
    void aPartThatContradictsTheStoreIsNamedAndTheOthersWork() throws Exception {
        try (Holdfast holdfast = Holdfast.connect(REDIS.uri().toString())) {
            holdfast.graph("docs");
        }
        try (Daemon daemon =
                daemons.start("graph.addressing = content", "serve.graphs = docs, other", "serve.sessions = none")) {
            daemons.awaitUp(daemon, "graph other");
            daemons.awaitUp(daemon, "sessions none");
            daemons.awaitFailure(daemon, "graph docs", "addressing");
            assertThat(daemons.get(daemon, "/readyz").statusCode()).isEqualTo(503);
            assertThat(daemons.get(daemon, "/healthz").statusCode()).isEqualTo(200);
            assertThat(daemons.get(daemon, "/other").statusCode()).isEqualTo(404);
        }
    }

    @Test
    void ofTwoDaemonsThatContradictEachOtherTheFirstGoesOnAndTheSecondSaysInWhat() throws Exception {
        String parts = "serve.graphs = docs";
        String sets = "serve.sessions = readers";
        try (Daemon first = daemons.start(parts, sets)) {
            daemons.awaitReady(first);
            try (Daemon second = daemons.start("graph.addressing = content", "sessions.shards = 3", parts, sets)) {
                daemons.awaitFailure(second, "graph docs", "addressing");
                // How sessions are spread is taken from what is stored.
                daemons.awaitUp(second, "sessions readers");
                assertThat(daemons.get(second, "/readyz").statusCode()).isEqualTo(503);
                assertThat(daemons.get(first, "/readyz").statusCode()).isEqualTo(200);
            }
            assertThat(daemons.get(first, "/readyz").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void withoutRedisTheOtherPartsWorkAndHealthSaysWhatIsMissing() throws Exception {
        Path slab = daemons.at("pages");
        try (SlabCache cache = SlabCache.open(slab, SlabCache.mebibytes(4));
                Daemon daemon = daemons.start(
                        "redis.uri = redis://127.0.0.1:1", "serve.graphs = docs", "serve.caches = " + cache.file())) {
            daemons.awaitUp(daemon, "cache " + cache.file());
            daemons.awaitFailure(daemon, "redis", "127.0.0.1:1");
            assertThat(daemons.part(daemon, "graph docs").get("up").getAsBoolean())
                    .isFalse();
            assertThat(daemons.get(daemon, "/readyz").statusCode()).isEqualTo(503);
        }
    }

    @Test
    void wrongSettingsAreRefusedBeforeAnythingIsBegun() throws Exception {
        assertRefused("unknown setting holdfast.serve.grafs", "serve.grafs = docs");
        assertRefused("serve.graphs", "serve.graphs = do cs");
        assertRefused("serve.sweep.interval", "serve.graphs = docs", "serve.sweep.interval = 1");
        assertRefused("graph.step-edges", "serve.graphs = docs", "graph.step-edges = 1");
        assertRefused("nothing to serve", "");
        assertThatThrownBy(() -> ServeSettings.read(daemons.at("none"), new Properties(), Map.of()))
                .isInstanceOf(IOException.class);
        try (Daemon daemon = daemons.start("serve.graphs = docs")) {
            assertRefused("serve.listen", "serve.graphs = docs", "serve.listen = 127.0.0.1:" + daemon.port());
        }
    }

    private void assertRefused(String message, String... lines) {
        assertThatThrownBy(() -> daemons.start(lines).close())
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.category()).isEqualTo(HoldfastException.Category.MISUSE))
                .hasMessageContaining(message);
    }

    @Test
    void aTermSignalStopsItCleanly() throws Exception {
        long begun = System.nanoTime();
        try (ChildJvm child = ChildJvm.of(Main.class)
                .arguments(
                        "serve",
                        "--config",
                        daemons.config("serve.graphs = docs").toString())
                .launch()) {
            child.awaitLine(line -> line.startsWith("listening on port "));
            child.awaitLine("ready"::equals);
            System.out.printf("serve was ready after %d ms%n", (System.nanoTime() - begun) / 1_000_000);
            ProcessHandle.of(child.pid()).orElseThrow().destroy();
            child.awaitLine("stopped"::equals);
            assertThat(child.awaitExit()).isZero();
        }
    }
}
