package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabInspector;
import java.nio.file.Path;

/** A command that looks at a cache and changes nothing, whatever state the file is in. */
abstract class LookCommand extends CacheCommand {

    @Override
    final Answer run(Path path, Console console) throws Exception {
        return run(SlabInspector.of(path), console);
    }

    abstract Answer run(SlabInspector cache, Console console) throws Exception;
}
