package io.holdfast.slab;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Has the kernel keep a file in pages of 2 MiB where it can. A cache touches memory at random, and with pages of 4 KiB
 * nearly each first touch of a value also misses in the processor's table of pages, which is dear and dearest in virtual
 * machines: a third of the time of a random access.
 *
 * <p>A file in tmpfs is made of small pages unless its mount says otherwise. But a process can ask for large ones, range by
 * range, and who creates a cache does so before anybody uses it: {@link #lay}. From then on they belong to the file, and
 * whoever maps it has the use of them if its mapping begins at a multiple of 2 MiB: {@link #map}. Both are attempts: older
 * kernels, other file systems and memory in pieces leave small pages, and nothing but time depends on that.
 */
final class LargePages {

    static final long BYTES = 1L << 21;

    private static final long SMALL_BYTES = 4096;
    /** Holes between other mappings take the first ones. */
    private static final int ATTEMPTS_MOST = 32;

    private static final long STEP_BYTES = 16 * BYTES;
    /** A virtual machine that has not used its memory yet is given it page by page: 6 ms for 2 MiB were seen. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** Since Linux 6.1. Unlike advice it does not wait for what the administrator has set for all of tmpfs. */
    private static final int MADV_COLLAPSE = 25;

    private LargePages() {}

    /**
     * Maps the file where large pages can be used. The kernel puts a mapping below the last one if there is room, so the
     * place of one tells that of the next, and a spacer between the two moves it.
     *
     * @param arenas gives the arena of each attempt; that of the last one owns what is returned
     */
    static MemorySegment map(FileChannel channel, long size, Supplier<Arena> arenas) throws IOException {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment mapped = channel.map(MapMode.READ_WRITE, 0, size, arenas.get());
            for (int i = 1; i < ATTEMPTS_MOST && size >= BYTES && !isAligned(mapped); i++) {
                long spacer = spacer(mapped.address(), size);
                if (spacer > 0) {
                    channel.map(MapMode.READ_WRITE, 0, spacer, scratch);
                }
                mapped = channel.map(MapMode.READ_WRITE, 0, size, arenas.get());
            }
            return mapped;
        }
    }

    static boolean isAligned(MemorySegment mapped) {
        return (mapped.address() & (BYTES - 1)) == 0;
    }

    /** As long as may be, so that it finds no room elsewhere. */
    private static long spacer(long last, long size) {
        long next = last - SlabLayout.aligned(size, SMALL_BYTES);
        long tooHigh = next & (BYTES - 1);
        return tooHigh == 0 ? 0 : tooHigh + (size - tooHigh) / BYTES * BYTES;
    }

    /** Begins a new file of this size in tmpfs with large pages; what is in none of them is still a hole. */
    static void lay(FileChannel channel, long size) throws IOException {
        if (size < BYTES) {
            return;
        }
        // A range of which nothing is there is not made a page.
        for (long at = 0; at <= size - BYTES; at += BYTES) {
            channel.write(ByteBuffer.allocate(1), at);
        }
        channel.write(ByteBuffer.allocate(1), size - 1);
        try (Arena scratch = Arena.ofConfined()) {
            collapse(map(channel, size, () -> scratch));
        } catch (IOException e) {
            throw e;
        } catch (Throwable t) {
            System.getLogger(LargePages.class.getName()).log(Level.DEBUG, "no large pages for a slab cache", t);
        }
    }

    /** Stops when the kernel refuses, or has taken too long to find large pages: the rest stays small. */
    private static void collapse(MemorySegment file) {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        for (long at = 0; at < file.byteSize(); at += STEP_BYTES) {
            long length = Math.min(STEP_BYTES, file.byteSize() - at);
            long refused = SystemCall.MADVISE.call(file.address() + at, length, MADV_COLLAPSE);
            if (refused != 0 || System.nanoTime() - deadline >= 0) {
                System.getLogger(LargePages.class.getName())
                        .log(
                                Level.DEBUG,
                                "a slab cache is in large pages up to offset {0} of {1}",
                                at,
                                file.byteSize());
                return;
            }
        }
    }
}
