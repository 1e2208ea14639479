package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.redis.graph.Hold;
import io.holdfast.redis.graph.ValueGraph;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Holds a value for a time, beyond the end of the command. */
@Command(
        name = "hold",
        description =
                "Hold a value, and all below it, for a time, whatever becomes of its roots. Nobody need renew it.",
        footer = {
            "  holdfast graph hold docs main --for 2h",
            "  holdfast graph hold docs 01a1e10f3d49f66afc24422a310de14b --for 15m",
        })
final class HoldCommand extends OneGraphCommand {

    private static final Duration LEAST = Duration.ofMillis(100);
    private static final Duration MOST = Duration.ofDays(1);

    @Parameters(index = "1", paramLabel = "ID|ROOT", description = "The value's id, or a root that names it now.")
    private String what = "";

    @Option(
            names = "--for",
            required = true,
            paramLabel = "TIME",
            description = "How long: 100ms to 1d, such as 15m or 2h.")
    private Duration length = Duration.ZERO;

    @Override
    Answer run(ValueGraph graph, Console console) {
        if (length.compareTo(LEAST) < 0 || length.compareTo(MOST) > 0) {
            throw HoldfastException.misuse(
                    "--for " + Setting.text(length) + " is not allowed",
                    "give 100ms to 1d; what must stay for longer needs a root");
        }
        // Not closed: closing would release. The command ends, nobody renews, and the lease runs for its length.
        @SuppressWarnings("MustBeClosed")
        Hold hold = graph.hold(GetCommand.resolve(graph, what), length);
        Instant until = Instant.now().plus(length).truncatedTo(ChronoUnit.MILLIS);
        return Answer.ok()
                .line("value " + hold.target() + " is held for " + Setting.text(length) + ", until about " + until)
                .field("id", hold.target().toString())
                .field("length", length)
                .field("until", until);
    }
}
