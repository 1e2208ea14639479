package io.holdfast.app.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * A noun with verbs: {@code holdfast NOUN VERB NAME}. A subclass is empty; its {@link Command} annotation lists the
 * verbs as subcommands.
 */
@Command(
        sortOptions = false,
        synopsisSubcommandLabel = "COMMAND",
        optionListHeading = "%nOptions%n",
        commandListHeading = "%nCommands%n",
        descriptionHeading = "%n",
        footerHeading = "%nExamples%n")
@SuppressWarnings("unused") // the options are read by the Cli
public abstract class CommandGroup {

    @Option(names = "--json", order = 100, hidden = true)
    private boolean json;

    @Option(names = "--verbose", order = 101, hidden = true)
    private boolean verbose;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            order = 102,
            description = "Show this help.")
    private boolean help;
}
