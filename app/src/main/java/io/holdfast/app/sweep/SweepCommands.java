package io.holdfast.app.sweep;

import io.holdfast.app.cli.CommandGroup;
import picocli.CommandLine.Command;

/** The verbs of the sweep. */
@Command(
        name = "sweep",
        description = "Find pieces on storage nodes that no catalogue knows, and move them to the trash.",
        subcommands = {
            PlanCommand.class,
            RunCommand.class,
            ApproveCommand.class,
            StatusCommand.class,
            RestoreCommand.class,
            LossesCommand.class,
            AlarmsCommand.class,
            VouchCommand.class,
            SameCatalogueCommand.class,
            WorkerCommand.class,
            NodeCommand.class,
            PutCommand.class,
            GetCommand.class,
            ListCommand.class,
            RenewCommand.class,
            DeleteCommand.class,
            KeysCommands.class,
        },
        footer = {
            "  holdfast sweep plan --catalogue pieces.csv --nodes /srv/n1,/srv/n2",
            "  holdfast sweep run --catalogue pieces.csv --nodes /srv/n1,/srv/n2",
            "  holdfast sweep restore 7 --owner photos --nodes /srv/n1,/srv/n2",
            "  holdfast sweep run --catalogue pieces.csv --fleet fleet --key manager.key --log /var/lib/holdfast",
        })
public final class SweepCommands extends CommandGroup {}
