package io.holdfast.bench;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Json;
import io.holdfast.app.cli.Table;
import io.holdfast.bench.aggregates.AggregatesSuite;
import io.holdfast.bench.graph.GraphSuite;
import io.holdfast.bench.link.LinkSuite;
import io.holdfast.bench.sessions.SessionsSuite;
import io.holdfast.bench.slab.SlabSuite;
import io.holdfast.bench.soak.SoakSuite;
import io.holdfast.bench.sweep.SweepSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bench/run}. It succeeds when everything was measured, also where a goal is not met. */
@Command(
        name = "bench/run",
        description = "Measure Holdfast beside its peers, in the same run.",
        footer = {
            "  bench/run link --quick",
            "  bench/run link --json=link.json",
            "  bench/run graph --server /usr/bin/redis-server",
            "  bench/run slab --trace requests.trace.gz",
            "  bench/run slab --part wall --part processes",
            "  bench/run soak --minutes 30",
            "  bench/run sessions --against ../holdfast-before",
            "",
            "Ratio is holdfast / baseline. A goal is one for the ratio, or for the value where there is no baseline.",
        })
public final class BenchCommand extends CliCommand {

    /** All suites. To add one: write its class, name it here. */
    static final List<Suite> SUITES = List.of(
            new LinkSuite(),
            new SlabSuite(),
            new SweepSuite(),
            new SessionsSuite(),
            new AggregatesSuite(),
            new GraphSuite(),
            new SoakSuite());

    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return SUITES.stream().map(Suite::name).iterator();
        }
    }

    @Parameters(
            paramLabel = "SUITE",
            completionCandidates = Names.class,
            description = "What to measure: ${COMPLETION-CANDIDATES}.")
    private String suite = "";

    @Option(names = "--quick", description = "All rows at smaller sizes, within 45 seconds.")
    private boolean quick;

    @Option(
            names = "--trace",
            paramLabel = "FILE",
            description = "For suite slab: requests to replay, lines of 'time key size', gzipped or not. Repeatable.")
    private List<Path> traces = new ArrayList<>();

    @Option(
            names = "--server",
            paramLabel = "FILE",
            description = "The redis-server or valkey-server to measure on, instead of the embedded one.")
    private @Nullable Path server;

    @Option(names = "--minutes", paramLabel = "N", description = "For suite soak: for how long (default 5).")
    private int minutes = 5;

    @Option(
            names = "--against",
            paramLabel = "FOLDER",
            description = "Measure by turns with another source tree, and compare the medians of the rounds.")
    private @Nullable Path against;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "With --against: how often each is measured (default 3).")
    private int rounds = 3;

    @Option(
            names = "--part",
            paramLabel = "NAME",
            description = "For suite slab: measure only this part: cpu, wall, processes, latency, large or hits."
                    + " Repeatable.")
    private Set<String> parts = new LinkedHashSet<>();

    @Option(names = "--json-file", hidden = true)
    private @Nullable Path jsonFile;

    private final List<Suite> suites;

    BenchCommand(List<Suite> suites) {
        this.suites = suites;
    }

    public static void main(String[] args) {
        // The link hands requests to the kernel whole; the peers that use Jedis shall do no worse.
        System.setProperty("jedis.bufferSize.output", String.valueOf(64 << 10));
        System.exit(new Cli(new BenchCommand(SUITES), Console.ofProcess())
                .run(arguments(args))
                .code());
    }

    /** {@code --json=FILE} is an option of its own, since {@code --json} alone means standard output everywhere. */
    static String[] arguments(String... args) {
        return Arrays.stream(args)
                .map(arg -> arg.startsWith("--json=") ? "--json-file=" + arg.substring("--json=".length()) : arg)
                .toArray(String[]::new);
    }

    @Override
    protected Answer run(Console console) throws Exception {
        Suite chosen = suites.stream()
                .filter(candidate -> candidate.name().equals(suite))
                .findFirst()
                .orElseThrow(() -> HoldfastException.misuse(
                        "unknown suite '" + suite + "'",
                        "use one of " + suites.stream().map(Suite::name).collect(Collectors.joining(", "))));
        if (minutes < 1) {
            throw HoldfastException.misuse("--minutes " + minutes, "give 1 or more");
        }
        for (String part : parts) {
            if (!chosen.parts().contains(part)) {
                throw HoldfastException.misuse(
                        "suite " + suite + " has no part '" + part + "'",
                        chosen.parts().isEmpty()
                                ? "leave --part out"
                                : "use one of " + String.join(", ", new TreeSet<>(chosen.parts())));
            }
        }
        if (against != null) {
            return against(chosen, against, console);
        }
        if (server != null) {
            System.setProperty("holdfast.embedded.server", server.toString());
        }
        if (jsonFile != null) {
            Files.writeString(jsonFile, ""); // a path that cannot be written is refused before the work, not after it
        }
        console.note(chosen.name() + ": " + chosen.description() + (quick ? " (quick)" : ""));
        long begin = System.nanoTime();
        Run run = new Run(quick, traces, minutes, parts, console);
        chosen.measure(run);
        double seconds = (System.nanoTime() - begin) / 1e9;
        Outcome outcome = new Outcome(chosen.name(), quick, seconds, Machine.here(), run.rows());
        if (jsonFile != null) {
            Files.writeString(jsonFile, Json.text(outcome) + System.lineSeparator());
        }
        return answer(console, outcome);
    }

    private Answer against(Suite chosen, Path other, Console console) throws Exception {
        if (rounds < 1) {
            throw HoldfastException.misuse("--rounds " + rounds, "give 1 or more");
        }
        List<String> arguments = new ArrayList<>(List.of(chosen.name(), "--minutes", Integer.toString(minutes)));
        if (quick) {
            arguments.add("--quick");
        }
        parts.forEach(part -> arguments.addAll(List.of("--part", part)));
        if (server != null) {
            arguments.addAll(List.of("--server", server.toAbsolutePath().toString()));
        }
        traces.forEach(trace ->
                arguments.addAll(List.of("--trace", trace.toAbsolutePath().toString())));
        Path here = Path.of(System.getProperty("io.holdfast.root", "")).toAbsolutePath();
        return new Against(here, other.toAbsolutePath(), arguments, rounds, console).measure();
    }

    private record Outcome(String suite, boolean quick, double seconds, Machine machine, List<Row> rows) {}

    private Answer answer(Console console, Outcome outcome) {
        Table table =
                Table.of("name", "unit", "direction", "holdfast", "baseline", "baselineName", "ratio", "goal", "met");
        for (Row row : outcome.rows()) {
            table.row(
                    row.name(),
                    row.unit(),
                    row.direction(),
                    row.holdfast(),
                    row.baseline(),
                    row.baselineName(),
                    row.ratio(),
                    row.goal(),
                    row.met() == null ? null : row.met() ? "yes" : "no");
        }
        Answer answer = Answer.ok()
                .field("suite", outcome.suite())
                .field("quick", outcome.quick())
                .field("seconds", outcome.seconds())
                .field("machine", outcome.machine())
                .field("rows", outcome.rows());
        if (console.isJson()) {
            table.lines().forEach(console::note);
        } else {
            table.lines().forEach(answer::line);
        }
        return answer;
    }
}
