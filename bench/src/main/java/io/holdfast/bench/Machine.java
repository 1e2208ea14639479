package io.holdfast.bench;

import java.lang.management.ManagementFactory;

/** Where a measurement was taken. Figures do not travel, ratios do; this says from where. */
record Machine(String system, int cores, String java, double loadAverage) {

    static Machine here() {
        return new Machine(
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                Runtime.version().toString(),
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }
}
