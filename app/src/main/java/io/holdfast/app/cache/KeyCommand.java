package io.holdfast.app.cache;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A command about one key. */
abstract class KeyCommand extends CacheCommand {

    @Parameters(index = "1", paramLabel = "KEY", description = "The key, as text.")
    private String key = "";

    @Option(names = "--namespace", paramLabel = "NAME", description = "The namespace (default: the unnamed one).")
    private @Nullable String namespace;

    final byte[] key() {
        return bytes(key);
    }

    /** The namespace that is meant; the empty name is the unnamed one. */
    final String namespace() {
        return namespace == null ? "" : namespace;
    }

    HoldfastException absent() {
        return new HoldfastException(
                Category.GONE, "there is no value under '" + key + "'", "check key and namespace", null);
    }

    static HoldfastException busy() {
        return new HoldfastException(
                Category.RETRY, "BUSY: another process holds the cache's lock; nothing was changed");
    }
}
