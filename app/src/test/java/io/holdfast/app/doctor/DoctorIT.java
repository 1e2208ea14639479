package io.holdfast.app.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.embedded.EmbeddedRedis;
import io.holdfast.spi.EmbeddedStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

class DoctorIT {

    private static final String HELLO_OF_6 = "*4\r\n$7\r\nversion\r\n$5\r\n6.2.6\r\n$5\r\nproto\r\n:2\r\n";

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private ExitCode run(String... args) {
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(args);
    }

    private String statusOf(String check) {
        JsonObject answer = JsonParser.parseString(out.toString()).getAsJsonObject();
        for (JsonElement element : answer.getAsJsonArray("checks")) {
            if (element.getAsJsonObject().get("check").getAsString().equals(check)) {
                return element.getAsJsonObject().get("status").getAsString();
            }
        }
        return "absent";
    }

    @Test
    void withoutAServerItLooksAtTheEmbeddedOne() {
        assertThat(run("doctor")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("embedded, redis://127.0.0.1:", "Redis 7.", "noeviction", "All is well.");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aServerThatMayDropHeldDataIsAProblem() {
        try (EmbeddedStore.Running server = new EmbeddedRedis().start(null)) {
            configure(server, "maxmemory-policy", "allkeys-lru");
            assertThat(run("doctor", "--json", "--redis", server.uri().toString()))
                    .isEqualTo(ExitCode.FINDING);
            assertThat(statusOf("eviction policy")).isEqualTo("problem");
            assertThat(statusOf("persistence")).isEqualTo("warning");
            assertThat(statusOf("latency")).isIn("ok", "warning");
        }
    }

    private static void configure(EmbeddedStore.Running server, String name, String value) {
        try (RedisClient client =
                RedisClient.create(server.uri().getHost(), server.uri().getPort())) {
            client.executeCommand(new CommandArguments(Protocol.Command.CONFIG)
                    .add("SET")
                    .add(name)
                    .add(value));
        }
    }

    @Test
    void aServerThatWantsAPasswordIsNotTakenForAnOldOne() {
        try (EmbeddedStore.Running server = new EmbeddedRedis().start(null)) {
            configure(server, "requirepass", "sesame");
            assertThat(run("doctor", "--redis", server.uri().toString())).isEqualTo(ExitCode.FINDING);
            assertThat(out.toString()).contains("the server wants a password", "redis://user:password@host");
        }
    }

    @Test
    void anOldServerIsAProblemAndNoScriptIsTried() throws IOException {
        try (ServerSocket old = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> answerAsOldServer(old, HELLO_OF_6));
            String uri = "redis://127.0.0.1:" + old.getLocalPort();
            assertThat(run("doctor", "--json", "--redis", uri))
                    .as(out::toString)
                    .isEqualTo(ExitCode.FINDING);
            assertThat(statusOf("version")).isEqualTo("problem");
            assertThat(statusOf("latency")).isEqualTo("absent");
        }
    }

    @Test
    void aServerThatDoesNotEvenKnowHelloIsAProblem() throws IOException {
        try (ServerSocket old = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> answerAsOldServer(old, "-ERR unknown command `HELLO`\r\n"));
            String uri = "redis://127.0.0.1:" + old.getLocalPort();
            assertThat(run("doctor", "--redis", uri)).as(out::toString).isEqualTo(ExitCode.FINDING);
            assertThat(out.toString()).contains("older than Redis 6", "upgrade to Redis 7");
        }
    }

    /** Says OK to everything, and to INFO that it is of 2021. */
    private static void answerAsOldServer(ServerSocket listening, String hello) {
        String info = "redis_version:6.2.6\r\nrole:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";
        while (!listening.isClosed()) {
            try (Socket socket = listening.accept();
                    OutputStream to = socket.getOutputStream()) {
                BufferedReader from =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
                for (String line = from.readLine(); line != null; line = from.readLine()) {
                    if (!line.startsWith("*")) {
                        continue;
                    }
                    int words = Integer.parseInt(line.substring(1));
                    String command = "";
                    for (int i = 0; i < words; i++) {
                        from.readLine();
                        String word = from.readLine();
                        command = i == 0 ? String.valueOf(word) : command;
                    }
                    String reply = switch (command) {
                        case "HELLO" -> hello;
                        case "INFO" -> "$" + info.length() + "\r\n" + info + "\r\n";
                        default -> "+OK\r\n";
                    };
                    to.write(reply.getBytes(StandardCharsets.US_ASCII));
                }
            } catch (IOException e) {
                return;
            }
        }
    }

    @Test
    void anUnreachableServerIsOneLineAndExitCodeFour() {
        String uri = "redis://127.0.0.1:1";
        assertThat(run("doctor", "--redis", uri)).isEqualTo(ExitCode.UNREACHABLE);
        assertThat(out.toString().lines().filter(line -> line.startsWith("problem")))
                .singleElement()
                .asString()
                .contains(uri, "start the server, or correct scheme, host and port");
        assertThat(out.toString() + err).doesNotContain("\tat ");
    }

    @Test
    void anUnreachableServerIsAnErrorInJson() {
        assertThat(run("doctor", "--json", "--redis", "redis://127.0.0.1:1")).isEqualTo(ExitCode.UNREACHABLE);
        JsonObject error =
                JsonParser.parseString(out.toString()).getAsJsonObject().getAsJsonObject("error");
        assertThat(error.get("category").getAsString()).isEqualTo("RETRY");
        assertThat(error.keySet()).containsExactly("category", "message", "action");
    }

    @Test
    void verboseShowsWhereItFailed() {
        run("doctor", "--verbose", "--redis", "redis://127.0.0.1:1");
        assertThat(err.toString()).contains("HoldfastException", "\tat ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost:6379", "http://localhost", "redis://", "redis://a:99999", "redis://a,b"})
    void aWrongUriIsOneLineAndExitCodeTwo(String uri) {
        assertThat(run("doctor", "--redis", uri)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).hasLineCount(1).contains("redis://host:port");
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void aPasswordIsNeverShown() {
        run("doctor", "--verbose", "--redis", "redis://:opensesame@127.0.0.1:1");
        assertThat(out.toString() + err).doesNotContain("opensesame");
        run("doctor", "--redis", "redis://:opensesame@127.0.0.1:99999");
        assertThat(out.toString() + err).doesNotContain("opensesame");
    }
}
