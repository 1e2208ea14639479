package io.holdfast.app.graph;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** The commands of value graphs and why, against a real server. */
class GraphCommandIT {

    @RegisterExtension
    static final SharedRedis SERVER = SharedRedis.plain();

    @TempDir
    Path folder;

    private String out = "";
    private String err = "";

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
        return JsonParser.parseString(out).getAsJsonObject();
    }

    private String put(String content, String root, String... more) throws IOException {
        Path file = Files.writeString(folder.resolve("value"), content);
        String[] args = Stream.concat(
                        Stream.of("graph", "put", "docs", file.toString(), "--root", root, "--json"),
                        Arrays.stream(more))
                .toArray(String[]::new);
        assertThat(run(args)).as(() -> out + err).isEqualTo(ExitCode.OK);
        return json().get("id").getAsString();
    }

    @Test
    void whatIsPutStaysAfterTheCommandAndIsReadBack() throws IOException {
        String leaf = put("leaf", "leaf");
        String top = put("top", "main", "--child", leaf);
        assertThat(run("graph", "get", "docs", "main")).isEqualTo(ExitCode.OK);
        assertThat(out).isEqualTo("top\n");
        Path copy = folder.resolve("copy");
        assertThat(run("graph", "get", "docs", leaf, "--out", copy.toString())).isEqualTo(ExitCode.OK);
        assertThat(copy).hasContent("leaf");
        assertThat(run("graph", "root", "docs")).isEqualTo(ExitCode.OK);
        assertThat(out).contains("leaf", leaf, "main", top);
        assertThat(run("graph", "tree", "docs", "main")).isEqualTo(ExitCode.OK);
        assertThat(out).isEqualTo("main\n└─ " + top + "\n   └─ " + leaf + "\n");
        assertThat(run("graph", "stats", "docs", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("values").getAsInt()).isEqualTo(2);
        assertThat(run("graph", "preview", "docs", "main", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("values").getAsInt()).isEqualTo(1);
        assertThat(json().get("spared").getAsInt()).isEqualTo(1);
        assertThat(run("graph", "dot", "docs", "main")).isEqualTo(ExitCode.OK);
        assertThat(out).startsWith("digraph \"docs\" {").contains(top, leaf);
    }

    @Test
    void holdOutlivesTheCommandAndTheRoot() throws IOException {
        String id = put("kept", "main");
        assertThat(run("graph", "hold", "docs", "main", "--for", "10m")).isEqualTo(ExitCode.OK);
        assertThat(run("graph", "drop", "docs", "main")).isEqualTo(ExitCode.OK);
        assertThat(run("graph", "get", "docs", id)).isEqualTo(ExitCode.OK);
        assertThat(run("why", "value:docs/" + id)).isEqualTo(ExitCode.OK);
        assertThat(out).contains("is alive", "held by hold of ", "lapses in ");
        assertThat(run("why", "root:docs/main")).isEqualTo(ExitCode.OK);
        assertThat(out).contains("is gone: released, dropped at version");
    }

    @Test
    void whyNamesTheChainAndTheRecordAndSaysWhenItDoesNotKnow() throws IOException {
        String leaf = put("leaf", "leaf");
        String top = put("top", "main", "--child", leaf);
        assertThat(run("graph", "drop", "docs", "leaf")).isEqualTo(ExitCode.OK);
        assertThat(run("why", "value:docs/" + leaf)).isEqualTo(ExitCode.OK);
        assertThat(out).contains("held once", "held by value:docs/" + top, "held by root:docs/main");
        assertThat(run("why", "value:docs/" + leaf, "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("state").getAsString()).isEqualTo("alive");
        assertThat(json().getAsJsonArray("chain")).hasSize(2);
        assertThat(run("why", "value:docs/" + "0".repeat(32))).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(out).contains("is unknown");
        assertThat(run("why", "root:nothing/here")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("why", "nonsense")).isEqualTo(ExitCode.USAGE);
        assertThat(run("why", "lease:docs/x")).isEqualTo(ExitCode.NOT_FOUND);
        try (Jedis redis = SERVER.client()) {
            assertThat(redis.keys("*nothing*")).as("asking makes no graph").isEmpty();
        }
    }

    @Test
    void verifyFindsAndRepairMends() throws IOException {
        String id = put("value", "main");
        assertThat(run("graph", "verify", "docs")).isEqualTo(ExitCode.OK);
        assertThat(out).contains("all is well");
        try (Jedis redis = SERVER.client()) {
            byte[] field = java.util.HexFormat.of().parseHex(id);
            byte[] counts = ("hf:{graph:docs:0}:counts:" + field[6]).getBytes(StandardCharsets.US_ASCII);
            redis.hset(counts, field, "7".getBytes(StandardCharsets.US_ASCII));
        }
        assertThat(run("graph", "verify", "docs")).isEqualTo(ExitCode.FINDING);
        assertThat(out).contains("overcount", id, "its count is 7, its holds are 1");
        assertThat(run("graph", "repair", "docs")).isEqualTo(ExitCode.FINDING);
        assertThat(out).contains("would be mended", "nothing was written");
        assertThat(run("graph", "repair", "docs", "--apply", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().getAsJsonArray("repaired")).hasSize(1);
        assertThat(run("graph", "verify", "docs", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("sound").getAsBoolean()).isTrue();
    }

    @Test
    void exportIsImportedUnderAnotherNameAndADamagedOneRefused() throws IOException {
        put("top", "main", "--child", put("leaf", "leaf"));
        Path file = folder.resolve("docs.hfgraph");
        assertThat(run("graph", "export", "docs", "main", file.toString())).isEqualTo(ExitCode.OK);
        assertThat(run("graph", "import", "copy", "main", file.toString(), "--addressing", "content"))
                .isEqualTo(ExitCode.OK);
        assertThat(run("graph", "get", "copy", "main")).isEqualTo(ExitCode.OK);
        assertThat(out).isEqualTo("top\n");
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 40] ^= 1;
        Files.write(file, bytes);
        assertThat(run("graph", "import", "copy", "other", file.toString())).isEqualTo(ExitCode.CORRUPT);
        assertThat(err).contains("the export file is damaged");
        assertThat(run("graph", "root", "copy", "other")).isEqualTo(ExitCode.NOT_FOUND);
    }

    @Test
    void destroyAsksForYesAndLeavesTheReason() throws IOException {
        put("value", "main");
        assertThat(run("graph", "destroy", "docs")).isEqualTo(ExitCode.USAGE);
        assertThat(err).contains("with 1 values and 1 roots", "add --yes");
        assertThat(run("graph", "destroy", "docs", "--yes")).isEqualTo(ExitCode.OK);
        assertThat(run("graph", "stats", "docs")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(err).contains("there is no graph docs");
        assertThat(run("why", "root:docs/main")).isEqualTo(ExitCode.OK);
        assertThat(out).contains("is gone: destroyed");
    }

    @Test
    void wrongWordsAreRefusedBeforeAnythingIsDone() throws IOException {
        put("value", "main");
        assertThat(run("graph", "get", "docs", "no-such-root")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("graph", "get", "docs", "0".repeat(32))).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("graph", "drop", "docs", "no-such-root")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("graph", "stats", "bad name")).isEqualTo(ExitCode.USAGE);
        assertThat(run("graph", "hold", "docs", "main", "--for", "10y")).isEqualTo(ExitCode.USAGE);
        assertThat(run("graph", "hold", "docs", "main", "--for", "2d")).isEqualTo(ExitCode.USAGE);
        String none = folder.resolve("none").toString();
        assertThat(run("graph", "put", "other", none, "--root", "main")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("graph", "import", "other", "main", none)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("graph", "stats", "other")).as("no graph was made").isEqualTo(ExitCode.NOT_FOUND);
    }
}
