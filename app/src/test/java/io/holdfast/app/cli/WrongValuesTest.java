package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What people are told about a value that cannot be, and about an output that nobody reads. */
class WrongValuesTest {

    private final StringWriter err = new StringWriter();

    @Command(name = "values", description = "Values of all types.")
    static final class Values extends CliCommand {

        @Parameters(arity = "0..1", paramLabel = "CYCLE")
        long cycle;

        @Option(names = "--count")
        int count;

        @Option(names = "--limit", converter = AtLeastOne.class)
        int limit = 1;

        @Option(names = "--size", converter = Bytes.class)
        @Nullable
        Long size;

        @Option(names = "--category")
        @Nullable
        Category category;

        @Option(names = "--node", paramLabel = "NAME=COUNT")
        Map<String, Long> nodes = new HashMap<>();

        @Override
        protected Answer run(Console console) throws Exception {
            if (count < 0) {
                Files.readAllBytes(Path.of("/"));
            }
            for (int i = 0; i < count; i++) {
                console.show("again");
            }
            return count == 0 ? Answer.ok() : Answer.finding();
        }
    }

    @Command(name = "holdfast", subcommands = Values.class)
    static final class Root extends CommandGroup {}

    private ExitCode run(Writer out, String... args) {
        return new Cli(new Root(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(args);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        --count x      | invalid value for option '--count': 'x' is not a whole number
        seven          | invalid value for CYCLE: 'seven' is not a whole number
        --limit 0      | invalid value for option '--limit': '0' is not a whole number from 1 to 2147483647
        --limit -3     | invalid value for option '--limit': '-3' is not a whole number from 1 to 2147483647
        --size big     | invalid value for option '--size': 'big' is not a size such as 512, 16KiB, 64MiB or 2GiB
        --category hot | invalid value for option '--category': 'hot' is none of retry, lapsed, gone, full, misuse, corrupt
        --node n1      | invalid value for option '--node': 'n1' is not NAME=COUNT
        --node n1=x    | invalid value for option '--node' (NAME=COUNT): 'x' is not a whole number
        """)
    void aWrongValueIsToldWithoutTypesOfJava(String arguments, String message) {
        assertThat(run(new StringWriter(), ("values " + arguments).split(" "))).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().strip()).isEqualTo("holdfast: " + message + "; see 'holdfast values --help'");
    }

    @Test
    void aFolderInPlaceOfAFileIsNoReasonToTryAgain() {
        assertThat(run(new StringWriter(), "values", "--count", "-1")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("it is a folder; give the path of a file");
    }

    @Test
    void aCommandThatOnlyShowsEndsQuietlyWhenNobodyReads() {
        assertThat(run(new StringWriter(), "values", "--count", "9")).isEqualTo(ExitCode.FINDING);
        assertThat(run(new ClosedPipe(), "values", "--count", "9")).isEqualTo(ExitCode.OK);
        assertThat(err.toString()).isEmpty();
    }

    private static final class ClosedPipe extends Writer {

        @Override
        public void write(char[] letters, int from, int length) throws IOException {
            throw new IOException("Broken pipe");
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
