package io.holdfast.app.cache;

import io.holdfast.app.cli.CommandGroup;
import picocli.CommandLine.Command;

/** The verbs of a slab cache. */
@Command(
        name = "cache",
        description = "Look into a slab cache in shared memory, also while other processes use it.",
        subcommands = {
            StatsCommand.class,
            TopCommand.class,
            AuditCommand.class,
            WatchCommand.class,
            MapCommand.class,
            PutCommand.class,
            GetCommand.class,
            RemoveCommand.class,
        },
        footer = {
            "  holdfast cache stats /dev/shm/pages",
            "  holdfast cache map /dev/shm/pages",
        })
public final class CacheCommands extends CommandGroup {}
