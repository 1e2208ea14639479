package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The namespaces of a shard. To clear one is to write down the shard's version: what is older is gone, and its chunks
 * are taken back when they are next met. Their names are in the first shard and hold for all.
 *
 * <pre>
 *  +0  cleared at version
 *  +8  length of the name (0: entry is free; number 0 has the empty name), then 48 bytes of it
 * </pre>
 */
final class Namespaces {

    static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,48}");

    private final Memory memory;
    private final Memory names;
    private final SlabLayout layout;

    Namespaces(Memory memory, Memory names, SlabLayout layout) {
        this.memory = memory;
        this.names = names;
        this.layout = layout;
    }

    private long at(int namespace) {
        return layout.namespacesAt + (long) namespace * SlabLayout.NAMESPACE_BYTES;
    }

    /** Values of at most this version are gone. */
    long clearedAt(int namespace) {
        return memory.acquire(at(namespace));
    }

    /** Only under the lock. */
    void clear(int namespace, long version) {
        memory.release(at(namespace), version);
    }

    /** The number of a name, without the lock; -1 if nobody has used it yet. */
    int find(String name) {
        if (name.isEmpty()) {
            return 0;
        }
        for (int i = 1; i < SlabLayout.NAMESPACES; i++) {
            if (names.acquire(at(i) + 8) == 0) {
                return -1;
            }
            if (name(i).equals(name)) {
                return i;
            }
        }
        return -1;
    }

    /** Only under the lock of the first shard. The length is written last: whoever sees it sees the name. */
    int findOrCreate(String name) {
        int found = find(name);
        if (found >= 0) {
            return found;
        }
        for (int i = 1; i < SlabLayout.NAMESPACES; i++) {
            if (names.word(at(i) + 8) == 0) {
                byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
                names.write(at(i) + 16, bytes, 0, bytes.length);
                names.release(at(i) + 8, bytes.length);
                return i;
            }
        }
        throw new HoldfastException(
                Category.FULL,
                "namespace '" + name + "' would be number " + SlabLayout.NAMESPACES + " of this cache",
                "use at most " + (SlabLayout.NAMESPACES - 1) + " names",
                null);
    }

    String name(int namespace) {
        long length = names.acquire(at(namespace) + 8);
        byte[] bytes = new byte[(int) Math.max(0, Math.min(length, 48))];
        names.read(at(namespace) + 16, bytes, 0, bytes.length);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    List<String> names() {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < SlabLayout.NAMESPACES && (i == 0 || this.names.acquire(at(i) + 8) != 0); i++) {
            names.add(name(i));
        }
        return names;
    }
}
