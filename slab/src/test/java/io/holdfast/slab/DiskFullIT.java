package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The space ends while the file is written, though there was enough when it began: by the limit that the kernel sets to
 * the size of files of a process, which needs neither root nor a disk of its own.
 */
class DiskFullIT {

    private static final int LIMIT_KIB = 256;

    @TempDir
    Path directory;

    @Test
    void spaceThatEndsMidwayIsAClearErrorAndLeavesNothing() throws Exception {
        List<String> java = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:-UsePerfData",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Opener.class.getName(),
                directory.resolve("cache").toString());
        Process process =
                new ProcessBuilder(limited(java)).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said).startsWith("FULL").contains("no space left", "File too large", "make the cache smaller");
        try (var files = Files.list(directory)) {
            assertThat(files).isEmpty();
        }
    }

    private static List<String> limited(List<String> java) {
        List<String> command =
                new java.util.ArrayList<>(List.of("bash", "-c", "ulimit -f " + LIMIT_KIB + "; exec \"$@\"", "bash"));
        command.addAll(java);
        return command;
    }

    /** In a child: the path of the cache. */
    static final class Opener {
        public static void main(String[] arguments) {
            try (SlabCache cache =
                    SlabCache.builder(Path.of(arguments[0])).dataPages(12).open()) {
                System.out.println("opened " + cache.file());
            } catch (HoldfastException e) {
                System.out.println(e.category() + " " + e.getMessage() + " " + e.action());
            }
        }
    }
}
