package io.holdfast.bench;

import com.google.gson.Gson;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Two source trees measured by turns, each by its own {@code bench/run}: what the machine does in the meantime meets both. Each row
 * is compared by the medians of its rounds; rows that only one of them has are left out.
 */
final class Against {

    /** What {@code bench/run --json=FILE} writes. */
    private record Measured(List<Row> rows) {}

    private final Path here;
    private final Path there;
    private final List<String> arguments;
    private final int rounds;
    private final Console console;

    /** @param arguments of {@code bench/run}, without those that compare */
    Against(Path here, Path there, List<String> arguments, int rounds, Console console) {
        this.here = runnable(here);
        this.there = runnable(there);
        this.arguments = arguments;
        this.rounds = rounds;
        this.console = console;
    }

    private static Path runnable(Path tree) {
        Path run = tree.resolve("bench").resolve("run");
        if (!Files.isExecutable(run)) {
            throw HoldfastException.misuse(
                    "'" + tree + "' has no bench/run",
                    "give the root of a source tree of Holdfast, such as a git worktree");
        }
        return run;
    }

    Answer measure() throws IOException, InterruptedException {
        Map<String, List<Row>> mine = new LinkedHashMap<>();
        Map<String, List<Row>> theirs = new LinkedHashMap<>();
        for (int round = 1; round <= rounds; round++) {
            console.note("round " + round + " of " + rounds);
            boolean otherFirst = round % 2 == 0;
            add(otherFirst ? there : here, otherFirst ? theirs : mine);
            add(otherFirst ? here : there, otherFirst ? mine : theirs);
        }
        Table table = Table.of("name", "unit", "direction", "here", "there", "worse by %");
        mine.forEach((name, rows) -> {
            List<Row> others = theirs.get(name);
            if (others != null) {
                double one = median(rows);
                double other = median(others);
                table.row(
                        name,
                        rows.getFirst().unit(),
                        rows.getFirst().direction(),
                        one,
                        other,
                        Math.round(worse(rows.getFirst().direction(), one, other) * 1_000) / 10.0);
            }
        });
        return Answer.ok().field("rounds", rounds).table("rows", table);
    }

    /** By what share the first figure is worse than the second; negative if it is better. */
    static double worse(Row.Direction direction, double one, double other) {
        if (one == other) {
            return 0;
        }
        return direction == Row.Direction.LOWER ? one / other - 1 : other / one - 1;
    }

    static double median(List<Row> rows) {
        List<Double> sorted = rows.stream().map(Row::holdfast).sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    private void add(Path run, Map<String, List<Row>> results) throws IOException, InterruptedException {
        Path file = Files.createTempFile("holdfast-bench", ".json");
        try {
            List<String> command = new ArrayList<>(List.of(run.toString()));
            command.addAll(arguments);
            command.add("--json=" + file);
            Process process = new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            int exit;
            try {
                exit = process.waitFor();
            } finally {
                process.destroy();
            }
            if (exit != 0) {
                throw new HoldfastException(
                        Category.MISUSE,
                        String.join(" ", command) + " ended with exit code " + exit,
                        "run it alone to see why",
                        null);
            }
            Measured measured = new Gson().fromJson(Files.readString(file), Measured.class);
            measured.rows()
                    .forEach(row -> results.computeIfAbsent(row.name(), name -> new ArrayList<>())
                            .add(row));
        } finally {
            Files.deleteIfExists(file);
        }
    }
}
