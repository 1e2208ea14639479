package io.holdfast.testkit;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Signals to processes that the test started, and to the test's own child from inside. */
final class Signals {

    private Signals() {}

    /** Stops a process where it stands and returns when all of it stands. */
    static void stall(long pid) {
        send("STOP", pid);
        awaitStalled(pid);
    }

    static void resume(long pid) {
        send("CONT", pid);
    }

    /** Waits until a process stands still, whoever stopped it. */
    static void awaitStalled(long pid) {
        await("process " + pid + " stands still")
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(30))
                .until(() -> isStalled(pid));
    }

    static boolean isStalled(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"), StandardCharsets.ISO_8859_1);
            return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
        } catch (IOException e) {
            throw new IllegalStateException("process " + pid + " is gone, or this is not Linux", e);
        }
    }

    /** SIGKILL to this very process. The calling thread does nothing more; others may, for the moment it takes. */
    static void killSelf() {
        send("KILL", ProcessHandle.current().pid());
        while (true) {
            LockSupport.park();
        }
    }

    /** SIGSTOP to this very process; returns when somebody lets it go on. */
    static void stallSelf() {
        send("STOP", ProcessHandle.current().pid());
    }

    private static void send(String signal, long pid) {
        try {
            Process kill = new ProcessBuilder("/bin/sh", "-c", "kill -" + signal + " " + pid)
                    .redirectErrorStream(true)
                    .start();
            String complaint = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("SIG" + signal + " to process " + pid + " failed: " + complaint);
            }
        } catch (IOException e) {
            throw new IllegalStateException("SIG" + signal + " cannot be sent", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}
