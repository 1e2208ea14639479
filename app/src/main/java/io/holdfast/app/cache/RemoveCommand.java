package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabNamespace;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/** Removes one value. */
@Command(
        name = "remove",
        description = "Remove the value under a key.",
        footer = "  holdfast cache remove /dev/shm/pages front")
final class RemoveCommand extends KeyCommand {

    @Override
    Answer run(Path path, Console console) {
        try (SlabCache cache = SlabCache.attach(path)) {
            SlabNamespace namespace = cache.findNamespace(namespace()).orElseThrow(this::absent);
            return switch (namespace.remove(key())) {
                case REMOVED -> Answer.ok().line("removed").field("removed", true);
                case ABSENT -> throw absent();
            };
        }
    }
}
