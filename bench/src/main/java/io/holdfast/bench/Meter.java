package io.holdfast.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.jspecify.annotations.Nullable;

/** Takes the time of work: on the wall, in this JVM, and in a Redis server if there is one. */
public final class Meter {

    private static final OperatingSystemMXBean PROCESS =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final @Nullable ServerCpu server;

    private Meter(@Nullable ServerCpu server) {
        this.server = server;
    }

    public static Meter ofProcess() {
        return new Meter(null);
    }

    public static Meter with(ServerCpu server) {
        return new Meter(server);
    }

    /** Work that may fail in any way. */
    public interface Work {
        void run() throws Exception;
    }

    public Measurement measure(long operations, Work work) throws Exception {
        long server = serverNanos();
        long client = PROCESS.getProcessCpuTime();
        long begin = System.nanoTime();
        work.run();
        long wall = System.nanoTime() - begin;
        long clientUsed = PROCESS.getProcessCpuTime() - client;
        return new Measurement(operations, wall, serverNanos() - server, clientUsed);
    }

    private long serverNanos() {
        return server == null ? 0 : server.nanos();
    }

    /** CPU time of the calling platform thread, for work that stays on it. */
    public static long threadCpuNanos() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
