package io.holdfast.app.doctor;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/** What can be said without Redis. */
final class MachineChecks {

    private static final int LEAST_JAVA = 25;
    private static final long MEBIBYTE = 1 << 20;
    private static final long FREE_LOW = 512 * MEBIBYTE;
    private static final long FREE_LEAST = 64 * MEBIBYTE;

    private MachineChecks() {}

    static List<Check> all() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return List.of(
                java(Runtime.version().feature(), Runtime.version() + ", " + System.getProperty("java.vendor")),
                memory(MemoryInfo.available(system.getFreeMemorySize()), system.getTotalMemorySize()));
    }

    static Check java(int feature, String description) {
        return feature >= LEAST_JAVA
                ? Check.ok("java", description)
                : Check.problem("java", description, "install a JDK " + LEAST_JAVA + " or newer");
    }

    static Check memory(long free, long total) {
        String found = free / MEBIBYTE + " MiB available of " + total / MEBIBYTE + " MiB";
        if (free < FREE_LEAST) {
            return Check.problem("memory", found, "free some memory, or use a larger machine");
        }
        return free < FREE_LOW
                ? Check.warning("memory", found, "leave at least 512 MiB for Holdfast and its store")
                : Check.ok("memory", found);
    }
}
