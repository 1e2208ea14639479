package io.holdfast.app.cache;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Bytes;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.PutResult;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Stores one value. */
@Command(
        name = "put",
        description = "Store a value under a key, evicting others if need be.",
        footer = {
            "  holdfast cache put /dev/shm/pages front 'hello'",
            "  holdfast cache put /dev/shm/pages front --from front.html --ttl 1h",
            "  holdfast cache put /dev/shm/new front 'hello' --create 64MiB",
        })
final class PutCommand extends KeyCommand {

    @Parameters(index = "2", paramLabel = "VALUE", arity = "0..1", description = "The value, as text.")
    private @Nullable String value;

    @Option(names = "--from", paramLabel = "PATH", description = "Take the value from a file.")
    private @Nullable Path from;

    @Option(names = "--ttl", paramLabel = "TIME", description = "The value lapses after so long.")
    private @Nullable Duration ttl;

    @Option(
            names = "--create",
            converter = Bytes.class,
            paramLabel = "SIZE",
            description = "Create the cache with this size, such as 64MiB, if it is not there.")
    private @Nullable Long create;

    @Override
    Answer run(Path path, Console console) throws IOException {
        if ((value == null) == (from == null)) {
            throw HoldfastException.misuse("a value is wanted, and only one", "give VALUE or --from PATH");
        }
        byte[] bytes = from == null ? bytes(String.valueOf(value)) : Files.readAllBytes(from);
        try (SlabCache cache = create == null ? SlabCache.attach(path) : SlabCache.open(path, create)) {
            SlabNamespace namespace =
                    namespace().isEmpty() ? cache.findNamespace("").orElseThrow() : cache.namespace(namespace());
            PutResult result = ttl == null ? namespace.put(key(), bytes) : namespace.put(key(), bytes, ttl);
            return stored(result);
        }
    }

    private static Answer stored(PutResult result) {
        if (result.outcome() == PutResult.Outcome.BUSY) {
            throw busy();
        }
        return Answer.ok()
                .line("stored as version " + result.version() + ", " + result.evicted() + " evicted")
                .field("version", result.version())
                .field("evicted", result.evicted());
    }
}
