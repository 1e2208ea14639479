package io.holdfast.app.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * One command. A subclass has picocli's {@link Command} annotation with name, description and, as footer, examples
 * (each begins with {@code holdfast}; a test parses them), its options and parameters as fields, and {@link #run}.
 *
 * <p>It does not print its result but returns it; it does not catch what it cannot cure but lets it out: the {@link
 * Cli} prints either in the form that was asked for and maps it to an exit code.
 */
@Command(
        sortOptions = false,
        optionListHeading = "%nOptions%n",
        parameterListHeading = "%n",
        descriptionHeading = "%n",
        footerHeading = "%nExamples%n")
@SuppressWarnings("unused") // the options are read by the Cli
public abstract class CliCommand {

    @Option(names = "--json", order = 100, description = "Answer with exactly one JSON object on standard output.")
    private boolean json;

    @Option(
            names = "--verbose",
            order = 101,
            description = "Show logs, and the stack trace of a failure, on standard error.")
    private boolean verbose;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            order = 102,
            description = "Show this help.")
    private boolean help;

    /** Does the work. Any exception is allowed. */
    protected abstract Answer run(Console console) throws Exception;
}
