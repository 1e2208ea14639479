package io.holdfast.app.verify;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.wiring.PieceLeaf;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.slab.SlabCache;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.SharedRedis;
import java.io.ByteArrayInputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** What an operator asks of the whole: the ledger, and verify. */
class OperatorCommandsIT {

    @RegisterExtension
    static final SharedRedis SERVER = SharedRedis.plain();

    @TempDir
    Path folder;

    private String out = "";
    private String err = "";

    @Test
    void ledgerTellsWhatIsGoneOfAllKinds() {
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString())) {
            dropADocument(holdfast);
            closeASession(holdfast);
            assertThat(run("ledger", "--json")).isEqualTo(ExitCode.OK);
            assertThat(out).contains("root main dropped", "\"session\"", "rooms", "lobby");
            assertThat(run("ledger", "--kind", "session", "--since", "1h")).isEqualTo(ExitCode.OK);
            assertThat(out).contains("lobby").doesNotContain("root main dropped");
            assertThat(run("ledger", "--since", "2099-01-01T00:00:00Z", "--json"))
                    .isEqualTo(ExitCode.OK);
            assertThat(json().get("records").getAsJsonArray()).isEmpty();
            assertThat(run("ledger", "--limit", "1")).isEqualTo(ExitCode.OK);
            assertThat(out).contains("older records are not shown");
        }
        assertThat(run("ledger", "--since", "yesterday")).isEqualTo(ExitCode.USAGE);
        assertThat(run("ledger", "--kind", "cat")).isEqualTo(ExitCode.USAGE);
        assertThat(run("ledger", "--follow", "--json")).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void ledgerFollowsWhatIsReclaimedMeanwhileAndTellsItOnce() throws InterruptedException {
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString())) {
            dropADocument(holdfast);
            Thread later = Thread.ofVirtual().start(() -> {
                Awaitility.await().pollDelay(Duration.ofMillis(500)).until(() -> true);
                closeASession(holdfast);
            });
            assertThat(run("ledger", "--follow", "--for", "6s")).isEqualTo(ExitCode.OK);
            later.join();
            assertThat(out.split("session:rooms/lobby", -1)).as(out).hasSize(2);
            assertThat(out.split("root:docs/main", -1)).as(out).hasSize(2);
        }
    }

    @Test
    void verifyFindsNothingInASystemThatIsInOrder() {
        Path slab = folder.resolve("pages");
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString());
                SlabCache cache = SlabCache.open(slab, SlabCache.mebibytes(4));
                Sessions rooms = rooms(holdfast);
                SessionHold hold = rooms.acquire("lobby")) {
            cache.put(new byte[] {1}, new byte[] {2});
            putADocument(holdfast);
            assertThat(run("verify", "--json")).isEqualTo(ExitCode.OK);
            assertThat(json().get("sound").getAsBoolean()).isTrue();
            assertThat(json().get("parts").getAsJsonArray()).hasSize(2);
            assertThat(run("verify", "--graph", "docs", "--cache", slab.toString()))
                    .isEqualTo(ExitCode.OK);
            assertThat(out).contains("sound", "1 values");
            assertThat(hold.isValid()).isTrue();
        }
    }

    @Test
    void verifyFindsWhatIsPlanted() {
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString());
                Sessions rooms = rooms(holdfast);
                SessionHold hold = rooms.acquire("lobby");
                Jedis jedis = SERVER.client()) {
            putADocument(holdfast);
            assertThat(hold.isValid()).isTrue();
            jedis.del("hf:{graph:docs:0}:roots"); // its target is held by nobody now, and counted once
            for (int shard = 0; shard < 8; shard++) {
                jedis.zrem("hf:{session:rooms:" + shard + "}:due", "=lobby");
            }
            assertThat(run("verify", "--json")).isEqualTo(ExitCode.FINDING);
            assertThat(out).contains("lobby", "nobody would ever close it", "LEAK");
        }
    }

    @Test
    void whatCannotBeLookedAtIsSaidAndTheRestIsLookedAt() {
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString())) {
            putADocument(holdfast);
            assertThat(run("verify", "--graph", "docs,nothing")).isEqualTo(ExitCode.UNREACHABLE);
            assertThat(out).contains("there is no graph nothing").containsPattern("graph docs +sound");
        }
    }

    @Test
    void whyOfAPieceThatAGraphNamesShowsTheChainUpToTheRoot() throws Exception {
        PieceId piece = PieceId.of(new byte[32]);
        Path n1 = folder.resolve("n1");
        try (StorageNode node = StorageNode.at(n1, "n1").open()) {
            node.put(new OwnerId("docs"), piece, new ByteArrayInputStream(new byte[5]));
        }
        String[] why = {"why", "piece:n1/" + piece, "--nodes", n1.toString(), "--catalogue", "graph:docs"};
        assertThat(run(why)).isEqualTo(ExitCode.NOT_FOUND);
        try (Holdfast holdfast = Holdfast.connect(SERVER.uri().toString());
                GraphWriter writer = holdfast.graph("docs").writer()) {
            assertThat(run(why)).isEqualTo(ExitCode.OK);
            assertThat(out).contains("is doomed: the catalogue does not know it");
            byte[] leaf = PieceLeaf.of(List.of(new PieceLeaf.Piece(new NodeId("n1"), piece)));
            holdfast.graph("docs").root("main").set(writer.put(leaf));
            assertThat(run(why)).isEqualTo(ExitCode.OK);
            assertThat(out).contains("is alive: on node n1 since", "held by value:docs/", "held by root:docs/main");
        }
    }

    @Test
    void verifyOfAnEmptyServerSaysSo() {
        assertThat(run("verify")).isEqualTo(ExitCode.OK);
        assertThat(out).contains("there is nothing of Holdfast here");
    }

    private static void putADocument(Holdfast holdfast) {
        ValueGraph docs = holdfast.graph("docs");
        try (GraphWriter writer = docs.writer()) {
            docs.root("main").set(writer.put(new byte[] {1}, writer.put(new byte[] {2})));
        }
    }

    private static void dropADocument(Holdfast holdfast) {
        putADocument(holdfast);
        holdfast.graph("docs").root("main").drop();
        Awaitility.await()
                .until(() -> holdfast.graph("docs").inspect().statistics().values() == 0);
    }

    private static Sessions rooms(Holdfast holdfast) {
        return holdfast.sessions("rooms")
                .lease(Duration.ofSeconds(1))
                .grace(Duration.ZERO)
                .onClose(claim -> {})
                .start();
    }

    private static void closeASession(Holdfast holdfast) {
        try (Sessions rooms = rooms(holdfast)) {
            rooms.acquire("lobby").close();
            Awaitility.await().until(() -> rooms.view().stats().closed() == 1);
        }
    }

    private ExitCode run(String... args) {
        StringWriter outWriter = new StringWriter();
        StringWriter errWriter = new StringWriter();
        String[] all = Stream.concat(
                        Arrays.stream(args), Stream.of("--redis", SERVER.uri().toString()))
                .toArray(String[]::new);
        ExitCode code = new Cli(
                        new HoldfastCommands(), Console.of(new PrintWriter(outWriter), new PrintWriter(errWriter)))
                .run(all);
        out = outWriter.toString();
        err = errWriter.toString();
        return code;
    }

    private JsonObject json() {
        assertThat(err).isEmpty();
        return JsonParser.parseString(out).getAsJsonObject();
    }
}
