package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabInspector;
import io.holdfast.slab.Versioned;
import java.nio.file.Path;
import java.util.Base64;
import picocli.CommandLine.Command;

/** One value. */
@Command(
        name = "get",
        description = "Show the value under a key: text as it is, other bytes as hexadecimal; base64 in JSON.",
        footer = {
            "  holdfast cache get /dev/shm/pages front",
            "  holdfast cache get /dev/shm/pages front --namespace html --json",
        })
final class GetCommand extends KeyCommand {

    @Override
    Answer run(Path path, Console console) {
        Versioned found = SlabInspector.of(path).get(namespace(), key());
        if (found == null) {
            throw absent();
        }
        return Answer.ok()
                .line(readable(found.value()))
                .field("version", found.version())
                .field("bytes", found.value().length)
                .field("value", Base64.getEncoder().encodeToString(found.value()));
    }
}
