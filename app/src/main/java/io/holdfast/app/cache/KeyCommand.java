package io.holdfast.app.cache;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabNamespace;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A command about one key. */
abstract class KeyCommand extends CacheCommand {

    @Parameters(index = "1", paramLabel = "KEY", description = "The key, as text.")
    private String key = "";

    @Option(names = "--namespace", paramLabel = "NAME", description = "The namespace (default: the unnamed one).")
    private @Nullable String namespace;

    @Override
    final Answer run(SlabCache cache, Console console) throws Exception {
        return run(new View(cache, namespace == null ? null : cache.namespace(namespace)), bytes(key));
    }

    abstract Answer run(View values, byte[] key) throws Exception;

    HoldfastException absent() {
        return new HoldfastException(
                Category.GONE, "there is no value under '" + key + "'", "check key and namespace", null);
    }

    static HoldfastException busy() {
        return new HoldfastException(
                Category.RETRY, "BUSY: another process holds the cache's lock; nothing was changed");
    }

    /** The unnamed namespace or a named one. */
    record View(SlabCache cache, @Nullable SlabNamespace namespace) {}
}
