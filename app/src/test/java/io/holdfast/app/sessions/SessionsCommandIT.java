package io.holdfast.app.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionSettings;
import io.holdfast.redis.session.Sessions;
import io.holdfast.spi.EmbeddedStore;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class SessionsCommandIT {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void operatorSeesWhoServesASessionAndWhatCouldNotBeClosed() {
        try (EmbeddedStore.Running server = ServiceLoader.load(EmbeddedStore.class)
                        .findFirst()
                        .orElseThrow()
                        .start(null);
                Holdfast holdfast = Holdfast.builder()
                        .uri(server.uri().toString())
                        .instance("web-1")
                        .open()) {
            String uri = server.uri().toString();
            assertThat(run("sessions", "stats", "rooms", "--redis", uri)).isEqualTo(ExitCode.NOT_FOUND);
            AtomicBoolean refuses = new AtomicBoolean(true);
            try (Sessions rooms = holdfast.sessions("rooms")
                    .lease(Duration.ofSeconds(3))
                    .grace(Duration.ZERO)
                    .set(SessionSettings.ATTEMPTS, 1)
                    .onClose(claim -> {
                        if (refuses.get()) {
                            throw new IllegalStateException("not now");
                        }
                    })
                    .start()) {
                SessionHold hold = rooms.acquire("a b");
                hold.put("user", "ann");
                JsonObject shown = json("sessions", "show", "rooms", "a b", "--redis", uri, "--json");
                assertThat(shown.getAsJsonArray("holders").toString()).contains("web-1#");
                assertThat(shown.getAsJsonArray("data").toString()).contains("ann");
                assertThat(run("sessions", "end", "rooms", "a b", "--redis", uri))
                        .isEqualTo(ExitCode.UNREACHABLE);
                assertThat(err.toString()).contains("is held by web-1#");
                assertThat(json("why", "session:rooms/a b", "--redis", uri, "--json")
                                .get("state")
                                .getAsString())
                        .isEqualTo("alive");

                hold.close();
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> run("sessions", "dead-letters", "rooms", "--redis", uri) == ExitCode.FINDING);
                refuses.set(false);
                assertThat(json("sessions", "retry", "rooms", "--redis", uri, "--json")
                                .get("retried")
                                .getAsInt())
                        .isEqualTo(1);
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> run("sessions", "show", "rooms", "a b", "--redis", uri) == ExitCode.NOT_FOUND);
                assertThat(json("why", "session:rooms/a b", "--redis", uri, "--json")
                                .get("reason")
                                .getAsString())
                        .isEqualTo("closed");
                assertThat(run("sessions", "list", "rooms", "--redis", uri, "--state", "alive"))
                        .isEqualTo(ExitCode.USAGE);
                assertThat(run("sessions", "list", "rooms", "--redis", uri)).isEqualTo(ExitCode.OK);
            }
        }
    }

    @Test
    void letterOfASessionThatIsServedAgainIsNotRetriedButMayBeDiscarded() {
        try (EmbeddedStore.Running server = ServiceLoader.load(EmbeddedStore.class)
                        .findFirst()
                        .orElseThrow()
                        .start(null);
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Sessions rooms = holdfast.sessions("rooms")
                        .lease(Duration.ofSeconds(1))
                        .grace(Duration.ZERO)
                        .set(SessionSettings.ATTEMPTS, 1)
                        .onClose(claim -> {
                            throw new IllegalStateException("never");
                        })
                        .start()) {
            String uri = server.uri().toString();
            SessionHold first = rooms.acquire("a");
            String epoch = String.valueOf(first.epoch());
            first.close();
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> run("sessions", "dead-letters", "rooms", "--redis", uri) == ExitCode.FINDING);
            try (SessionHold second = rooms.acquire("a")) {
                assertThat(run("sessions", "retry", "rooms", "a", "--redis", uri))
                        .isEqualTo(ExitCode.UNREACHABLE);
                assertThat(err.toString())
                        .contains("a newer life of session 'a' is open")
                        .contains("discard the letter");
                assertThat(run("sessions", "retry", "rooms", "--redis", uri)).isEqualTo(ExitCode.FINDING);
                assertThat(run("sessions", "discard", "rooms", "a", epoch, "--redis", uri))
                        .isEqualTo(ExitCode.OK);
                assertThat(run("sessions", "discard", "rooms", "a", epoch, "--redis", uri))
                        .isEqualTo(ExitCode.NOT_FOUND);
                assertThat(second.isValid()).isTrue();
                assertThat(run("sessions", "end", "rooms", "a", "--redis", uri)).isEqualTo(ExitCode.UNREACHABLE);
                assertThat(run("sessions", "end", "rooms", "a", "--force", "--redis", uri))
                        .isEqualTo(ExitCode.OK);
            }
            assertThat(run("sessions", "end", "rooms", "none", "--redis", uri)).isEqualTo(ExitCode.NOT_FOUND);
        }
    }

    private ExitCode run(String... arguments) {
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out, true), new PrintWriter(err, true)))
                .run(arguments);
    }

    private JsonObject json(String... arguments) {
        out.getBuffer().setLength(0);
        assertThat(run(arguments)).isEqualTo(ExitCode.OK);
        return JsonParser.parseString(out.toString()).getAsJsonObject();
    }
}
