package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

/** What is asked of every command, also of those that are added later. */
class AllCommandsTest {

    static Stream<String> commandNames() {
        return all(Cli.commandLine(new HoldfastCommands()))
                .map(commandLine -> commandLine.getCommandSpec().qualifiedName(" "));
    }

    private static Stream<CommandLine> all(CommandLine commandLine) {
        return Stream.concat(
                Stream.of(commandLine),
                commandLine.getSubcommands().values().stream().flatMap(AllCommandsTest::all));
    }

    private static CommandLine find(String name) {
        return all(Cli.commandLine(new HoldfastCommands()))
                .filter(commandLine ->
                        commandLine.getCommandSpec().qualifiedName(" ").equals(name))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("commandNames")
    void hasADescriptionAndExamples(String name) {
        CommandLine.Model.UsageMessageSpec usage = find(name).getCommandSpec().usageMessage();
        assertThat(usage.description()).isNotEmpty();
        assertThat(examples(usage)).as("examples in the footer").isNotEmpty();
    }

    @ParameterizedTest
    @MethodSource("commandNames")
    void everyExampleParses(String name) {
        for (String example : examples(find(name).getCommandSpec().usageMessage())) {
            assertThatCode(() -> Cli.commandLine(new HoldfastCommands()).parseArgs(arguments(example)))
                    .as(example)
                    .doesNotThrowAnyException();
        }
    }

    private static List<String> examples(CommandLine.Model.UsageMessageSpec usage) {
        return Arrays.stream(usage.footer())
                .filter(line -> line.startsWith("  holdfast "))
                .toList();
    }

    /** The words up to a redirection, a pipe, another command or a comment. */
    private static String[] arguments(String example) {
        String line = example.strip().split("\\s+#\\s|\\s[>|]\\s", 2)[0];
        return line.substring("holdfast ".length()).split(" ", -1);
    }

    /** The list of commands shows the first line of each, and lines are broken by the terminal, not by hand. */
    @ParameterizedTest
    @MethodSource("commandNames")
    void everyLineOfADescriptionEndsASentence(String name) {
        assertThat(find(name).getCommandSpec().usageMessage().description())
                .allSatisfy(line -> assertThat(line).endsWith("."));
    }

    @Test
    void examplesAreNeverBrokenSoThatTheyCanBePasted() {
        StringWriter out = new StringWriter();
        new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(new StringWriter())))
                .run("sweep", "run", "--help");
        assertThat(out.toString().lines())
                .containsAll(
                        examples(find("holdfast sweep run").getCommandSpec().usageMessage()));
    }

    @ParameterizedTest
    @MethodSource("commandNames")
    void leavesTakeTheCommonOptions(String name) {
        CommandLine commandLine = find(name);
        if (commandLine.getSubcommands().isEmpty()) {
            Object command = commandLine.getCommandSpec().userObject();
            assertThat(command).isInstanceOf(CliCommand.class);
        }
        assertThat(commandLine.getCommandSpec().optionsMap()).containsKeys("--json", "--verbose", "--help");
    }

    @Test
    void theVersionIsTheBuilds() {
        StringWriter out = new StringWriter();
        new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(new StringWriter())))
                .run("--version");
        assertThat(out.toString()).matches("(?s)holdfast \\d+\\.\\d+\\.\\d+\\S* \\(Java 2.*");
    }

    @Test
    void completionKnowsEveryCommand() {
        StringWriter out = new StringWriter();
        new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(new StringWriter())))
                .run("completion");
        assertThat(out.toString()).contains("complete -F _complete_holdfast", "completion");
        commandNames()
                .map(name -> name.substring(name.lastIndexOf(' ') + 1))
                .forEach(word -> assertThat(out.toString()).contains(word));
    }
}
