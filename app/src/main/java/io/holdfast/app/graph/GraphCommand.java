package io.holdfast.app.graph;

import io.holdfast.app.cli.CommandGroup;
import picocli.CommandLine.Command;

/** The verbs of value graphs. */
@Command(
        name = "graph",
        description =
                "Put, read, drop, verify and repair value graphs: values that live as long as something holds them.",
        subcommands = {
            PutCommand.class,
            GetCommand.class,
            RootCommand.class,
            DropCommand.class,
            HoldCommand.class,
            TreeCommand.class,
            StatsCommand.class,
            PreviewCommand.class,
            VerifyCommand.class,
            RepairCommand.class,
            DotCommand.class,
            ExportCommand.class,
            ImportCommand.class,
            DestroyCommand.class,
        },
        footer = {
            "  holdfast graph put docs page.html --root main",
            "  holdfast graph tree docs main",
            "  holdfast graph verify docs",
        })
public final class GraphCommand extends CommandGroup {}
