package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ThingId;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The conventions that every command inherits. */
class CliTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    /** What the sample command does when it runs. */
    private static Work work = sample -> Answer.ok();

    private interface Work {
        Answer apply(Sample sample) throws Exception;
    }

    @Command(name = "sample", description = "A sample.")
    static final class Sample extends CliCommand {
        @Option(names = "--grace")
        @Nullable
        Duration grace;

        @Option(names = "--reason")
        @Nullable
        Category reason;

        @Option(names = "--count")
        int count;

        @Parameters(arity = "0..1")
        @Nullable
        ThingId thing;

        @Override
        protected Answer run(Console console) throws Exception {
            try (Progress progress = console.progress("working", 2)) {
                console.say("working");
                progress.step(2);
            }
            return work.apply(this);
        }
    }

    @Command(name = "verbs", description = "Verbs.", subcommands = Sample.class)
    static final class Verbs extends CommandGroup {}

    @Command(
            name = "holdfast",
            version = "1.2.3",
            subcommands = {Sample.class, Verbs.class})
    static final class Root extends CommandGroup {
        @Option(names = "--version", versionHelp = true)
        boolean version;
    }

    private ExitCode run(String... args) {
        return new Cli(new Root(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(args);
    }

    private ExitCode runThrowing(Throwable failure, String... args) {
        work = sample -> {
            if (failure instanceof Error error) {
                throw error;
            }
            throw (Exception) failure;
        };
        return run(args);
    }

    private JsonObject json() {
        return JsonParser.parseString(out.toString()).getAsJsonObject();
    }

    private JsonObject error() {
        return json().getAsJsonObject("error");
    }

    @Test
    void textIsForPeopleAndFieldsAreForPrograms() {
        work = sample -> Answer.ok()
                .line("two things")
                .field("count", 2)
                .table(
                        "things",
                        Table.of("name", "lapsesIn")
                                .row("a", Duration.ofSeconds(5))
                                .row("long one", null));
        assertThat(run("sample")).isEqualTo(ExitCode.OK);
        assertThat(out.toString().lines())
                .containsExactly("working", "two things", "NAME      LAPSES IN", "a         5s", "long one  -");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void jsonIsTheOnlyThingOnStandardOutput() {
        work = sample -> Answer.finding()
                .line("two things")
                .field("count", 2)
                .table(
                        "things",
                        Table.of("name", "lapsesIn")
                                .row("<a&b>", Duration.ofSeconds(5))
                                .row("b", null));
        assertThat(run("sample", "--json")).isEqualTo(ExitCode.FINDING);
        assertThat(json().get("count").getAsInt()).isEqualTo(2);
        assertThat(json().getAsJsonArray("things").toString())
                .isEqualTo("[{\"name\":\"<a&b>\",\"lapsesIn\":\"5s\"},{\"name\":\"b\",\"lapsesIn\":null}]");
        assertThat(err.toString().lines()).containsExactly("working");
    }

    @ParameterizedTest
    @CsvSource({"RETRY,4", "LAPSED,1", "GONE,3", "FULL,1", "MISUSE,2", "CORRUPT,5"})
    void aFailureIsOneLineThatSaysWhatToDo(Category category, int code) {
        ExitCode exit = runThrowing(new HoldfastException(category, "it\n  broke"), "sample");
        assertThat(exit.code()).isEqualTo(code);
        assertThat(err.toString()).isEqualTo("holdfast: it broke; " + category.action() + System.lineSeparator());
    }

    @ParameterizedTest
    @EnumSource(Category.class)
    void aFailureInJsonHasCategoryMessageAndAction(Category category) {
        runThrowing(new HoldfastException(category, "it \"broke\""), "sample", "--json");
        assertThat(error().get("category").getAsString()).isEqualTo(category.name());
        assertThat(error().get("message").getAsString()).isEqualTo("it \"broke\"");
        assertThat(error().get("action").getAsString()).isEqualTo(category.action());
        assertThat(json().size()).isEqualTo(1);
        assertThat(err.toString().lines()).containsExactly("working");
    }

    @Test
    void aFailureAfterSomeOfTheWorkShowsBoth() {
        HoldfastException cause = new HoldfastException(Category.RETRY, "it broke");
        work = sample -> Answer.failed(cause).line("half of it").field("done", 1);
        assertThat(run("sample")).isEqualTo(ExitCode.UNREACHABLE);
        assertThat(out.toString()).contains("half of it");
        assertThat(err.toString()).isEmpty();
        out.getBuffer().setLength(0);
        assertThat(run("sample", "--json", "--verbose")).isEqualTo(ExitCode.UNREACHABLE);
        assertThat(json().keySet()).containsExactly("done", "error");
        assertThat(err.toString()).contains("HoldfastException: RETRY: it broke; try again", "\tat ");
    }

    @Test
    void verboseShowsTheStackTraceAndThenTheLine() {
        runThrowing(new HoldfastException(Category.RETRY, "it broke"), "sample", "--verbose");
        assertThat(err.toString()).contains("\tat io.holdfast.app.cli.CliTest");
        assertThat(err.toString().lines().toList().getLast()).startsWith("holdfast: it broke; ");
    }

    @ParameterizedTest
    @ValueSource(classes = {IllegalStateException.class, StackOverflowError.class})
    void whatNobodyExpectedIsABugOfOurs(Class<? extends Throwable> type) throws Exception {
        Throwable bug = type.getConstructor(String.class).newInstance("unexpected");
        assertThat(runThrowing(bug, "sample").code()).isEqualTo(70);
        assertThat(err.toString()).hasLineCount(1).contains("a bug in holdfast", "unexpected", "--verbose");
        assertThat(runThrowing(bug, "sample", "--json").code()).isEqualTo(70);
    }

    @Test
    void filesThatFailAreNamedAndAreNoBugs() {
        assertThat(runThrowing(new NoSuchFileException("cache.slab"), "sample")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(runThrowing(new AccessDeniedException("cache.slab"), "sample"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(runThrowing(new FileSystemException("cache.slab", null, "No space left on device"), "sample"))
                .isEqualTo(ExitCode.FINDING);
        assertThat(runThrowing(new IOException("connection reset"), "sample")).isEqualTo(ExitCode.UNREACHABLE);
        assertThat(err.toString().lines())
                .hasSize(4)
                .allSatisfy(line -> assertThat(line).startsWith("holdfast: "))
                .first()
                .isEqualTo("holdfast: cache.slab: no such file or folder; check the path");
    }

    @ParameterizedTest
    @CsvSource({
        "--jsno, --json",
        "--grcae=5s, --grace",
        "--verb, --verbose",
    })
    void anUnknownOptionSuggestsNearOnes(String given, String meant) {
        assertThat(run("sample", given)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString())
                .hasLineCount(1)
                .startsWith("holdfast: unknown option '" + given + "'; did you mean " + meant + "?")
                .contains("see 'holdfast sample --help'");
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void anUnknownOptionThatIsNearToNothingPointsToTheHelp() {
        assertThat(run("sample", "--zzzzzzzzzz")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().strip())
                .isEqualTo("holdfast: unknown option '--zzzzzzzzzz'; see 'holdfast sample --help'");
    }

    @Test
    void anUnknownCommandSuggestsNearOnes() {
        assertThat(run("smaple")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("unknown command 'smaple'; did you mean sample?");
    }

    @Test
    void aGroupWithoutAVerbNamesItsVerbs() {
        assertThat(run("verbs")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).hasLineCount(1).contains("'holdfast verbs' needs a command: sample");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--grace=5weeks    | 5weeks | 5s, 15m",
                "--count=many      | many   | --count",
                "--reason=whim     | whim   | misuse",
                "session-42        | session-42 | session:SET/ID",
                "--count           | --count    | required parameter",
            })
    void aBadValueIsNamedWithWhatIsAllowed(String given, String value, String allowed) {
        assertThat(run("sample", given.strip())).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).hasLineCount(1).contains(allowed.strip());
        assertThat(err.toString()).contains(value.strip());
    }

    @Test
    void aWrongCommandLineIsAnsweredInJsonToo() {
        assertThat(run("sample", "--json", "--nonsense")).isEqualTo(ExitCode.USAGE);
        assertThat(error().get("category").getAsString()).isEqualTo("MISUSE");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void whatFollowsTwoDashesIsNoOption() {
        assertThat(run("sample", "--", "--json")).isEqualTo(ExitCode.USAGE);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString()).contains("'--json' names nothing");
    }

    @Test
    void helpGoesToStandardOutputAndSucceeds() {
        assertThat(run("sample", "--help")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("Usage: holdfast sample", "--grace", "--json", "--verbose");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void noArgumentsShowTheHelp() {
        assertThat(run()).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("Usage: holdfast", "sample");
    }

    @Test
    void helpInJsonIsStillOneObject() {
        assertThat(run("sample", "--help", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("help").getAsString()).contains("--grace");
    }

    @Test
    void versionNamesTheProductAndJava() {
        assertThat(run("--version")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).startsWith("holdfast 1.2.3 (Java 2");
        out.getBuffer().setLength(0);
        assertThat(run("--version", "--json")).isEqualTo(ExitCode.OK);
        assertThat(json().get("version").getAsString()).isEqualTo("1.2.3");
    }

    @Test
    void aProgressBarAppearsOnATerminalOnly() {
        work = sample -> Answer.ok();
        run("sample");
        assertThat(err.toString()).isEmpty();
        new Cli(new Root(), Console.terminal(new PrintWriter(out), new PrintWriter(err))).run("sample");
        assertThat(err.toString()).contains("working").contains("100%");
    }

    @Test
    void nearWordsAreNearByLettersSwappedDroppedOrAdded() {
        assertThat(NearWords.distance("--jsno", "--json")).isEqualTo(1);
        assertThat(NearWords.distance("doctr", "doctor")).isEqualTo(1);
        assertThat(NearWords.distance("", "abc")).isEqualTo(3);
        assertThat(NearWords.distance("same", "same")).isZero();
    }
}
