package io.holdfast.app.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Memory that could be had: what is free, and what the system would give back from its file cache. */
final class MemoryInfo {

    private static final String AVAILABLE = "MemAvailable:";

    private MemoryInfo() {}

    /** As Linux says; elsewhere what the JVM calls free. */
    static long available(long free) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
                if (line.startsWith(AVAILABLE)) {
                    String kibibytes =
                            line.substring(AVAILABLE.length()).replace("kB", "").strip();
                    return Long.parseLong(kibibytes) << 10;
                }
            }
        } catch (IOException | NumberFormatException e) {
            return free;
        }
        return free;
    }
}
