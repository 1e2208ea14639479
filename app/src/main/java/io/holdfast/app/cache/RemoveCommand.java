package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.slab.Removal;
import picocli.CommandLine.Command;

/** Removes one value. */
@Command(
        name = "remove",
        description = "Remove the value under a key.",
        footer = "  holdfast cache remove /dev/shm/pages front")
final class RemoveCommand extends KeyCommand {

    @Override
    Answer run(View values, byte[] key) {
        Removal removal = values.namespace() == null
                ? values.cache().remove(key)
                : values.namespace().remove(key);
        return switch (removal) {
            case REMOVED -> Answer.ok().line("removed").field("removed", true);
            case ABSENT -> throw absent();
            case BUSY -> throw busy();
        };
    }
}
