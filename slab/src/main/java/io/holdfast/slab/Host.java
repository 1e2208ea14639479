package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/** Which boot of which machine this is, and how processes are told alive on it. */
interface Host {

    long bootHigh();

    long bootLow();

    /** Makes this process known as alive to all others that have the file open. Takes over the descriptor. */
    Life join(Descriptor descriptor);

    /** Linux, by way of /proc. */
    static Host linux() {
        return Linux.of(Path.of("/proc"));
    }

    /** The host that this JVM runs on. */
    record Linux(long bootHigh, long bootLow) implements Host {

        static Linux of(Path proc) {
            Path file = proc.resolve("sys/kernel/random/boot_id");
            try {
                UUID boot = UUID.fromString(Files.readString(file).strip());
                return new Linux(boot.getMostSignificantBits(), boot.getLeastSignificantBits());
            } catch (IOException | IllegalArgumentException e) {
                throw new HoldfastException(
                        Category.MISUSE,
                        "cannot read " + file + ", which tells one boot of the machine from another",
                        "run on Linux with /proc mounted",
                        e);
            }
        }

        @Override
        public Life join(Descriptor descriptor) {
            return new FileLife(descriptor);
        }
    }
}
