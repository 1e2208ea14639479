package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.UUID;

/**
 * What the kernel says about this boot, this pid namespace and the processes in it.
 *
 * <p>A process is named by one word: its pid and the clock tick of its start, so that a pid that was given to somebody
 * else is not taken for the one that died.
 */
interface Host {

    int START_BITS = 42;

    long bootHigh();

    long bootLow();

    long pidNamespace();

    /** The word that names this process. */
    long me();

    /** Whether the process that the word names can still write to the region. */
    boolean isAlive(long process);

    static int pidOf(long process) {
        return (int) (process >>> START_BITS);
    }

    /** Linux, by way of /proc. */
    static Host linux() {
        return Linux.INSTANCE;
    }

    /** The one host that this JVM runs on. */
    enum Linux implements Host {
        INSTANCE;

        private final UUID boot =
                UUID.fromString(read("/proc/sys/kernel/random/boot_id").strip());
        private final long pidNamespace = readPidNamespace();
        private final long me = word(ProcessHandle.current().pid(), startOf(stat("self")));

        @Override
        public long bootHigh() {
            return boot.getMostSignificantBits();
        }

        @Override
        public long bootLow() {
            return boot.getLeastSignificantBits();
        }

        @Override
        public long pidNamespace() {
            return pidNamespace;
        }

        @Override
        public long me() {
            return me;
        }

        @Override
        public boolean isAlive(long process) {
            if (process == me) {
                return true;
            }
            String[] stat;
            try {
                stat = fields(Files.readString(Path.of("/proc/" + pidOf(process) + "/stat")));
            } catch (NoSuchFileException e) {
                return false;
            } catch (IOException e) {
                // The process went away between open and read (ESRCH), or /proc is not ours to read: look once more.
                return Files.exists(Path.of("/proc/" + pidOf(process)));
            }
            if (word(pidOf(process), startOf(stat)) != process) {
                return false;
            }
            // A zombie leader may have threads that still run towards their end; only when it is the last is it dead.
            boolean zombie = stat[0].equals("Z") || stat[0].equals("X");
            return !(zombie && Integer.parseInt(stat[17]) <= 1);
        }

        private static long word(long pid, long start) {
            return pid << START_BITS | (start & ((1L << START_BITS) - 1));
        }

        private static String[] stat(String pid) {
            return fields(read("/proc/" + pid + "/stat"));
        }

        /** The fields from the state on; the name before it may hold spaces and brackets. */
        private static String[] fields(String stat) {
            return stat.substring(stat.lastIndexOf(')') + 2).strip().split(" ");
        }

        private static long startOf(String[] fields) {
            return Long.parseLong(fields[19]);
        }

        private static long readPidNamespace() {
            try {
                String link =
                        Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
                return Long.parseLong(link.replaceAll("\\D", ""));
            } catch (IOException e) {
                throw unreadable("/proc/self/ns/pid", e);
            }
        }

        private static String read(String file) {
            try {
                return Files.readString(Path.of(file));
            } catch (IOException e) {
                throw unreadable(file, e);
            }
        }

        private static HoldfastException unreadable(String file, IOException e) {
            return new HoldfastException(
                    Category.MISUSE,
                    "cannot read " + file + ", which tells the living from the dead",
                    "run on Linux with /proc mounted",
                    e);
        }
    }
}
