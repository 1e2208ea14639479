package io.holdfast.app.serve;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The daemon. */
@Command(
        name = "serve",
        description = {
            "Run the duties of named graphs, sessions, aggregates and caches, and cycles of the sweep, until it is"
                    + " stopped.",
            "What to serve is set in the file, by properties or by the environment: serve.graphs, serve.sessions,"
                    + " serve.session-snapshots, serve.aggregates, serve.caches, serve.sweep.…; docs/configuration.md"
                    + " lists them all.",
            "Answers /healthz, /readyz and /metrics at serve.listen. Any number of daemons share the work.",
        },
        footer = {
            "  holdfast serve --config /etc/holdfast.properties",
        })
public final class ServeCommand extends CliCommand {

    private static final long LOOK_MILLIS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Option(names = "--config", paramLabel = "FILE", description = "Settings, NAME = VALUE a line each.")
    private @Nullable Path config;

    @Override
    protected Answer run(Console console) throws Exception {
        var settings = ServeSettings.read(config, System.getProperties(), System.getenv());
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        Thread onTerm = Thread.ofPlatform().name("holdfast-stop").unstarted(() -> {
            asked.countDown();
            try {
                if (ended.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    Runtime.getRuntime().halt(0); // everything is closed: this was no failure
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        try (Daemon daemon = Daemon.start(settings)) {
            Runtime.getRuntime().addShutdownHook(onTerm);
            console.say(
                    "listening on port " + daemon.port() + "; " + daemon.parts().size() + " parts");
            boolean told = false;
            while (!asked.await(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                if (!told && daemon.isReady()) {
                    console.say("ready");
                    told = true;
                }
            }
            console.say("stopping");
        }
        console.say("stopped");
        ended.countDown();
        return Answer.ok();
    }
}
