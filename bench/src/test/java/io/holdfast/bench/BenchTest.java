package io.holdfast.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.bench.Row.Direction;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    /** A suite that measures nothing, for the frame around it. */
    private record Sample() implements Suite {
        @Override
        public String name() {
            return "sample";
        }

        @Override
        public String description() {
            return "made up";
        }

        @Override
        public void measure(Run run) {
            run.note("measuring");
            run.row(Row.compared("put", "us", Direction.LOWER, run.size(20, 10), 40, "peer"));
            run.row(Row.compared("get", "1/s", Direction.HIGHER, 100, 200, "peer")
                    .goal(1));
            run.row(Row.reported("memory", "B", Direction.LOWER, 77));
        }
    }

    private ExitCode run(String... args) {
        BenchCommand command = new BenchCommand(List.of(new Sample()));
        return new Cli(command, Console.of(new PrintWriter(out), new PrintWriter(err)))
                .run(BenchCommand.arguments(args));
    }

    @Test
    void aGoalIsMetInTheDirectionThatIsBetter() {
        assertThat(Row.compared("a", "us", Direction.LOWER, 8, 10, "peer")
                        .goal(0.9)
                        .met())
                .isTrue();
        assertThat(Row.compared("a", "us", Direction.LOWER, 10, 10, "peer")
                        .goal(0.9)
                        .met())
                .isFalse();
        assertThat(Row.compared("a", "1/s", Direction.HIGHER, 20, 10, "peer")
                        .goal(1.5)
                        .met())
                .isTrue();
        assertThat(Row.compared("a", "1/s", Direction.HIGHER, 14, 10, "peer")
                        .goal(1.5)
                        .met())
                .isFalse();
        assertThat(Row.reported("a", "ms", Direction.LOWER, 3).goal(2).met()).isFalse();
        assertThat(Row.reported("a", "ms", Direction.LOWER, 3).met()).isNull();
    }

    @Test
    void contendersTakeTurnsAndTheFirstRoundDoesNotCount() throws Exception {
        List<String> turns = new ArrayList<>();
        Contest.Results results = new Contest()
                .add("a", () -> measured(turns, "a", turns.isEmpty() ? 1_000 : 10))
                .add("b", () -> measured(turns, "b", 20))
                .run(2);
        assertThat(turns).containsExactly("a", "b", "b", "a", "a", "b");
        assertThat(results.median("a", Measurement::wallMicros)).isEqualTo(10);
        assertThat(results.measured().get("a")).hasSize(2);
    }

    private static Measurement measured(List<String> turns, String name, long micros) {
        turns.add(name);
        return new Measurement(1, micros * 1_000, 0, 0);
    }

    @Test
    void theMedianIsTheMiddleOrBetweenTheTwoInTheMiddle() {
        assertThat(Contest.median(5, 1, 100)).isEqualTo(5);
        assertThat(Contest.median(4, 1, 100, 2)).isEqualTo(3);
    }

    @Test
    void theTableIsForPeople() {
        assertThat(run("sample")).isEqualTo(ExitCode.OK);
        assertThat(out.toString().lines())
                .containsExactly(
                        "NAME    UNIT  DIRECTION  HOLDFAST  BASELINE  BASELINE NAME  RATIO  GOAL  MET",
                        "put     us    lower            20        40  peer             0.5     -  -",
                        "get     1/s   higher          100       200  peer             0.5     1  no",
                        "memory  B     lower            77         -  -                  -     -  -");
        assertThat(err.toString()).contains("measuring");
    }

    @Test
    void jsonAloneIsOnStandardOutputAndTheTableOnStandardError() {
        assertThat(run("sample", "--json", "--quick")).isEqualTo(ExitCode.OK);
        JsonObject answer = JsonParser.parseString(out.toString()).getAsJsonObject();
        JsonObject row = answer.getAsJsonArray("rows").get(0).getAsJsonObject();
        assertThat(row.keySet())
                .containsExactly(
                        "name", "unit", "direction", "holdfast", "baseline", "baselineName", "ratio", "goal", "met");
        assertThat(row.get("holdfast").getAsDouble()).isEqualTo(10);
        assertThat(row.get("direction").getAsString()).isEqualTo("lower");
        assertThat(row.get("goal").isJsonNull()).isTrue();
        assertThat(answer.getAsJsonArray("rows")
                        .get(1)
                        .getAsJsonObject()
                        .get("met")
                        .getAsBoolean())
                .isFalse();
        assertThat(err.toString()).contains("BASELINE NAME");
    }

    @Test
    void jsonIntoAFileLeavesTheTableOnStandardOutput(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("out.json");
        assertThat(run("sample", "--json=" + file)).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).startsWith("NAME ");
        assertThat(JsonParser.parseString(Files.readString(file))
                        .getAsJsonObject()
                        .getAsJsonArray("rows"))
                .hasSize(3);
    }

    @Test
    void aFileThatCannotBeWrittenIsRefusedBeforeTheWork(@TempDir Path folder) {
        assertThat(run("sample", "--json=" + folder.resolve("no/such/out.json")))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(err.toString()).doesNotContain("measuring");
    }

    /** Two trees whose {@code bench/run} writes a file that was measured before. */
    @Test
    void whatIsComparedIsWorseInTheDirectionThatIsBetter(@TempDir Path folder) throws Exception {
        Path here = tree(folder.resolve("here"));
        Path there = tree(folder.resolve("there"));
        Files.writeString(
                there.resolve("rows.json"),
                Files.readString(there.resolve("rows.json"))
                        .replace("\"holdfast\": 20", "\"holdfast\": 10")
                        .replace("\"holdfast\": 100", "\"holdfast\": 200"));
        Answer answer = new Against(
                        here,
                        there,
                        List.of("sample"),
                        1,
                        Console.of(new PrintWriter(new StringWriter()), new PrintWriter(err)))
                .measure();
        assertThat(answer.text())
                .containsExactly(
                        "NAME    UNIT  DIRECTION  HERE  THERE  WORSE BY %",
                        "put     us    lower        20     10         100",
                        "get     1/s   higher      100    200         100",
                        "memory  B     lower        77     77           0");
    }

    private Path tree(Path root) throws Exception {
        Path run = Files.createDirectories(root.resolve("bench")).resolve("run");
        assertThat(run("sample", "--json=" + root.resolve("rows.json"))).isEqualTo(ExitCode.OK);
        Files.writeString(
                run, "#!/bin/sh\nfor last; do :; done\ncp \"$(dirname \"$0\")/../rows.json\" \"${last#--json=}\"\n");
        assertThat(run.toFile().setExecutable(true)).isTrue();
        return root;
    }

    @Test
    void anUnknownSuiteNamesTheKnownOnes() {
        assertThat(run("slap")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().strip()).isEqualTo("bench/run: unknown suite 'slap'; use one of sample");
    }

    @Test
    void everySuiteHasAWordAndALine() {
        assertThat(BenchCommand.SUITES)
                .isNotEmpty()
                .allSatisfy(suite -> assertThat(suite.name()).matches("[a-z]+"))
                .allSatisfy(suite -> assertThat(suite.description()).isNotBlank());
    }
}
