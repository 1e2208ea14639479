package io.holdfast.app;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import picocli.AutoComplete;
import picocli.CommandLine.Command;

/** Completion of commands and options in the shell. */
@Command(
        name = "completion",
        description = "Print the completion script for bash and zsh.",
        footer = {
            "  holdfast completion > holdfast.bash && source holdfast.bash",
        })
final class CompletionCommand extends CliCommand {

    @Override
    protected Answer run(Console console) {
        String script = AutoComplete.bash("holdfast", Cli.commandLine(new HoldfastCommands()));
        return Answer.ok().line(script.stripTrailing()).field("shell", "bash").field("script", script);
    }
}
