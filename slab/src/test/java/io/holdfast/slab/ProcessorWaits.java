package io.holdfast.slab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How long threads that could run waited for a processor, by the kernel's account. Who holds a lock and is not given a
 * processor keeps the others waiting for as long, and neither of them can help it.
 */
final class ProcessorWaits {

    private Map<Path, Long> known = new HashMap<>();

    /** The longest that a thread of these processes waited since the last look; zero where the kernel does not count. */
    Duration look(List<Long> processes) {
        Map<Path, Long> now = new HashMap<>();
        long most = 0;
        for (long process : processes) {
            try (Stream<Path> threads = Files.list(Path.of("/proc", String.valueOf(process), "task"))) {
                for (Path thread : threads.toList()) {
                    long waited = Long.parseLong(
                            Files.readString(thread.resolve("schedstat")).split(" ", -1)[1]);
                    now.put(thread, waited);
                    most = Math.max(most, waited - known.getOrDefault(thread, waited));
                }
            } catch (IOException | java.io.UncheckedIOException e) {
                // The process or the thread has ended: it holds nobody up.
            }
        }
        known = now;
        return Duration.ofNanos(most);
    }
}
