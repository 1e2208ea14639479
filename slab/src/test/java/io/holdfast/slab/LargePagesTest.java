package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LargePagesTest {

    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/shmem_enabled");

    @TempDir
    Path directory;

    private Path shared = Path.of("");

    @BeforeEach
    void makeFolder() throws IOException {
        shared = Files.createTempDirectory(
                Files.isWritable(SHARED_MEMORY) ? SHARED_MEMORY : directory, "holdfast-test-");
    }

    @AfterEach
    void deleteFolder() throws IOException {
        try (var files = Files.list(shared)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(shared);
    }

    @Test
    void aCacheInSharedMemoryIsKeptInLargePages() throws IOException {
        assumeThat(kernelCan())
                .as("a kernel from 6.1 on, with large pages for tmpfs")
                .isTrue();
        try (SlabCache cache = SlabCache.open(shared.resolve("cache"), SlabCache.mebibytes(16))) {
            for (int i = 0; i < 4_000; i++) {
                cache.put(ByteBuffer.allocate(8).putLong(i).array(), new byte[2_000]);
            }
            // The first range may be in large pages and those of the values not: most of them must be.
            assertThat(kibibytesInLargePages(cache.file())).isGreaterThan(8 * 1_024);
            assertThat(cache.audit().problems()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 21, (1 << 21) + 4_096, 5_000_000, 67_092_480, 100_000_001})
    void aMappingBeginsWhereLargePagesCan(long size) throws IOException {
        try (FileChannel channel = created(shared.resolve("file"));
                Arena arena = Arena.ofConfined()) {
            channel.write(ByteBuffer.allocate(1), size - 1);
            assertThat(LargePages.map(channel, size, () -> arena))
                    .matches(LargePages::isAligned)
                    .extracting(mapped -> mapped.byteSize())
                    .isEqualTo(size);
            assertThat(channel.size()).isEqualTo(size);
        }
    }

    @Test
    void aFileSystemWithoutLargePagesIsNoError() throws IOException {
        try (FileChannel channel = created(directory.resolve("file"))) {
            LargePages.lay(channel, 5_000_000);
            assertThat(channel.size()).isEqualTo(5_000_000);
        }
    }

    @Test
    void aSmallFileIsLeftAlone() throws IOException {
        try (FileChannel channel = created(directory.resolve("file"))) {
            LargePages.lay(channel, LargePages.BYTES - 1);
            assertThat(channel.size()).isZero();
        }
    }

    private static FileChannel created(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private static boolean kernelCan() throws IOException {
        int[] version = Arrays.stream(System.getProperty("os.version").split("\\D+"))
                .limit(2)
                .mapToInt(Integer::parseInt)
                .toArray();
        return (version[0] > 6 || (version[0] == 6 && version[1] >= 1))
                && Files.isReadable(SETTING)
                && !Files.readString(SETTING).contains("[deny]")
                && Files.isWritable(SHARED_MEMORY)
                && Files.getFileStore(SHARED_MEMORY).type().equals("tmpfs");
    }

    private static long kibibytesInLargePages(Path file) throws IOException {
        List<String> lines = Files.readAllLines(Path.of("/proc/self/smaps"));
        long sum = 0;
        boolean ofFile = false;
        for (String line : lines) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                ofFile = line.endsWith(file.toString());
            } else if (ofFile && line.startsWith("ShmemPmdMapped:")) {
                sum += Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return sum;
    }
}
