package io.holdfast.app.aggregates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.redis.aggregate.Sink;
import io.holdfast.spi.EmbeddedStore;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AggregatesCommandIT {

    record Visits(long views) {
        Visits plus(Visits other) {
            return new Visits(views + other.views);
        }
    }

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    private Path folder;

    @Test
    void operatorSeesWhoAddsWhatWaitsAndWhyItIsGone() throws Exception {
        try (EmbeddedStore.Running server = ServiceLoader.load(EmbeddedStore.class)
                        .findFirst()
                        .orElseThrow()
                        .start(null);
                HikariDataSource database = EmbeddedDatabase.in(folder);
                Holdfast holdfast = Holdfast.builder()
                        .uri(server.uri().toString())
                        .instance("web-1")
                        .open()) {
            String uri = server.uri().toString();
            assertThat(run("aggregates", "stats", "visits", "--redis", uri)).isEqualTo(ExitCode.NOT_FOUND);
            AtomicBoolean refuses = new AtomicBoolean(true);
            Sink<Visits> table = JdbcSink.to(database);
            try (Aggregates<Visits> visits = holdfast.aggregates("visits", Visits.class, Visits::plus)
                    .set(AggregateSettings.LEASE, Duration.ofSeconds(2))
                    .set(AggregateSettings.ATTEMPTS, 1)
                    .sink(batch -> {
                        if (refuses.get()) {
                            throw new IllegalStateException("not now");
                        }
                        table.flush(batch);
                    })
                    .start()) {
                visits.add("a b", new Visits(7));
                visits.publish();
                whileItIsOpen(uri);
                assertThat(run("aggregates", "end", "visits", "a b", "--redis", uri))
                        .isEqualTo(ExitCode.UNREACHABLE);
                assertThat(err.toString()).contains("is held by web-1#", "wait until it leaves, or force the end");
                assertThat(run("aggregates", "end", "visits", "a b", "--force", "--redis", uri))
                        .isEqualTo(ExitCode.OK);
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> run("aggregates", "dead-letters", "visits", "--redis", uri) == ExitCode.FINDING);
                out.getBuffer().setLength(0);
                assertThat(run("why", "aggregate:visits/a b", "--redis", uri)).isEqualTo(ExitCode.OK);
                assertThat(out.toString())
                        .contains("a dead letter: flushing it failed 1 times")
                        .contains("1 updates in 1 parts");
                refuses.set(false);
                assertThat(json("aggregates", "retry", "visits", "--redis", uri, "--json")
                                .get("retried")
                                .getAsInt())
                        .isEqualTo(1);
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> run("aggregates", "show", "visits", "a b", "--redis", uri) == ExitCode.NOT_FOUND);
                whenItIsGone(uri);
            }
            try (Connection connection = database.getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("select aggregate_key, views from holdfast_visits")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getString(1) + row.getLong(2)).isEqualTo("a b7");
                assertThat(row.next()).isFalse();
            }
        }
    }

    @Test
    void operatorDiscardsADeadLetterAndTheLedgerSaysWho() {
        try (EmbeddedStore.Running server = ServiceLoader.load(EmbeddedStore.class)
                        .findFirst()
                        .orElseThrow()
                        .start(null);
                Holdfast holdfast = Holdfast.connect(server.uri().toString());
                Aggregates<Visits> visits = holdfast.aggregates("visits", Visits.class, Visits::plus)
                        .set(AggregateSettings.LEASE, Duration.ofSeconds(1))
                        .sink(batch -> batch.forEach(flush -> flush.refuse("never")))
                        .start()) {
            String uri = server.uri().toString();
            visits.add("a", new Visits(7));
            String epoch = String.valueOf(visits.end("a"));
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> run("aggregates", "dead-letters", "visits", "--redis", uri) == ExitCode.FINDING);
            assertThat(run("aggregates", "discard", "visits", "a", "1", "--redis", uri))
                    .isEqualTo(ExitCode.NOT_FOUND);
            assertThat(run("aggregates", "discard", "visits", "a", "--redis", uri))
                    .isEqualTo(ExitCode.USAGE);
            assertThat(json("aggregates", "discard", "visits", "a", epoch, "--redis", uri, "--json")
                            .get("discarded")
                            .getAsBoolean())
                    .isTrue();
            assertThat(run("aggregates", "dead-letters", "visits", "--redis", uri))
                    .isEqualTo(ExitCode.OK);
            assertThat(run("aggregates", "retry", "visits", "a", "--redis", uri))
                    .isEqualTo(ExitCode.NOT_FOUND);
            out.getBuffer().setLength(0);
            assertThat(run("why", "aggregate:visits/a", "--redis", uri)).isEqualTo(ExitCode.OK);
            assertThat(out.toString()).contains("is gone: discarded", "by operator-");
        }
    }

    private void whileItIsOpen(String uri) {
        JsonObject shown = json("aggregates", "show", "visits", "a b", "--redis", uri, "--json");
        assertThat(shown.getAsJsonArray("holders").toString()).contains("web-1#");
        assertThat(shown.getAsJsonArray("parts").toString()).contains("\"updates\":1");
        out.getBuffer().setLength(0);
        assertThat(run("why", "aggregate:visits/a b", "--redis", uri)).isEqualTo(ExitCode.OK);
        assertThat(out.toString())
                .contains("is alive: epoch ")
                .contains("held by 1 instance, 1 updates in 1 parts")
                .contains("held by web-1#")
                .contains("its hard window ends in ");
        JsonObject why = json("why", "aggregate:visits/a b", "--redis", uri, "--json");
        assertThat(why.get("state").getAsString()).isEqualTo("alive");
        assertThat(json("aggregates", "stats", "visits", "--redis", uri, "--json")
                        .getAsJsonArray("figures")
                        .toString())
                .contains("waitingBytes");
        assertThat(run("aggregates", "list", "visits", "--redis", uri, "--state", "open"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(run("aggregates", "list", "visits", "--redis", uri)).isEqualTo(ExitCode.OK);
    }

    private void whenItIsGone(String uri) {
        out.getBuffer().setLength(0);
        assertThat(run("why", "aggregate:visits/a b", "--redis", uri)).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("is gone: flushed, ", "ended by an operator", "1 updates in 1 parts");
        assertThat(run("why", "aggregate:visits/never", "--redis", uri)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("aggregates", "end", "visits", "a b", "--force", "--redis", uri))
                .isEqualTo(ExitCode.NOT_FOUND);
    }

    private ExitCode run(String... arguments) {
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out, true), new PrintWriter(err, true)))
                .run(arguments);
    }

    private JsonObject json(String... arguments) {
        out.getBuffer().setLength(0);
        assertThat(run(arguments)).as(err.toString()).isEqualTo(ExitCode.OK);
        return JsonParser.parseString(out.toString()).getAsJsonObject();
    }
}
