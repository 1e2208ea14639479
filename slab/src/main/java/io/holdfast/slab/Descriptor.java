package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A file opened by the kernel's own call, for its open-file-description locks ({@code F_OFD_SETLK}). Such a lock belongs to
 * the descriptor and goes when the descriptor is closed or its process has ended. The lock that the JDK takes belongs to
 * the process and the file, and goes when any descriptor of the file is closed, also by a library that looked at it.
 */
final class Descriptor implements AutoCloseable {

    // x86-64
    private static final int O_RDONLY = 0;
    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0x40;
    private static final int O_NOFOLLOW = 0x20000;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int F_OFD_GETLK = 36;
    private static final int F_OFD_SETLK = 37;
    private static final short F_WRLCK = 1;
    private static final short F_UNLCK = 2;

    // struct flock
    private static final long FLOCK_BYTES = 32;
    private static final long FLOCK_TYPE = 0;
    private static final long FLOCK_START = 8;
    private static final long FLOCK_LENGTH = 16;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final Path path;
    private final int number;

    private Descriptor(Path path, int number) {
        this.path = path;
        this.number = number;
    }

    /** Opens a file that exists, not a link to one. */
    static Descriptor open(Path path) throws IOException {
        return open(path, O_RDWR);
    }

    /** Opens a file that exists for reading: others' locks can be seen, and none taken. */
    static Descriptor inspect(Path path) throws IOException {
        return open(path, O_RDONLY);
    }

    /** Opens a file, or creates it empty for its owner alone. */
    static Descriptor create(Path path) throws IOException {
        return open(path, O_RDWR | O_CREAT);
    }

    private static Descriptor open(Path path, int flags) throws IOException {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment name = scratch.allocateFrom(path.toAbsolutePath().toString());
            long number = SystemCall.OPEN.call(name.address(), flags | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
            if (number < 0 && !Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                throw new NoSuchFileException(path.toString());
            }
            if (number < 0) {
                throw new IOException(path + " cannot be opened for " + (flags == O_RDONLY ? "reading" : "writing"));
            }
            return new Descriptor(path, (int) number);
        }
    }

    /** The user that this process acts as; /proc/self tells another one of processes that may not be dumped. */
    static int effectiveUser() {
        return (int) SystemCall.GETEUID.call(0, 0, 0);
    }

    /** A channel on this very file, whatever its name means by now. */
    FileChannel channel() throws IOException {
        return FileChannel.open(self(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    FileChannel readingChannel() throws IOException {
        return FileChannel.open(self(), StandardOpenOption.READ);
    }

    private Path self() {
        return Path.of("/proc/self/fd/" + number);
    }

    /** Whether the name still means this file. */
    boolean isStill(Path name) throws IOException {
        try {
            Object key = Files.readAttributes(name, BasicFileAttributes.class).fileKey();
            return key != null
                    && key.equals(Files.readAttributes(self(), BasicFileAttributes.class)
                            .fileKey());
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    Object fileKey() throws IOException {
        return java.util.Objects.requireNonNull(
                Files.readAttributes(self(), BasicFileAttributes.class).fileKey());
    }

    /** Locks one byte, which need not exist; false if another descriptor has it locked. */
    boolean tryLock(long at) {
        try (Arena scratch = Arena.ofConfined()) {
            if (SystemCall.FCNTL.call(number, F_OFD_SETLK, flock(scratch, at).address()) >= 0) {
                return true;
            }
        }
        boolean ignored = isLockedElsewhere(at); // throws if it is not that, but that there are no locks
        return false;
    }

    /** False if another descriptor kept it locked for so long. */
    boolean lock(long at, Duration wait) {
        long deadline = System.nanoTime() + wait.toNanos();
        while (!tryLock(at)) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        return true;
    }

    /** Whether another descriptor has the byte locked. */
    boolean isLockedElsewhere(long at) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment flock = flock(scratch, at);
            if (SystemCall.FCNTL.call(number, F_OFD_GETLK, flock.address()) < 0) {
                throw new HoldfastException(
                        Category.MISUSE,
                        "cannot lock a byte of " + path,
                        "put the cache on a file system with locks, such as tmpfs, ext4 or xfs",
                        null);
            }
            return flock.get(ValueLayout.JAVA_SHORT, FLOCK_TYPE) != F_UNLCK;
        }
    }

    /** One byte, locked for writing; the kernel's struct of that name. */
    private static MemorySegment flock(Arena scratch, long at) {
        MemorySegment flock = scratch.allocate(FLOCK_BYTES, Long.BYTES);
        flock.set(ValueLayout.JAVA_SHORT, FLOCK_TYPE, F_WRLCK);
        flock.set(ValueLayout.JAVA_LONG, FLOCK_START, at);
        flock.set(ValueLayout.JAVA_LONG, FLOCK_LENGTH, 1);
        return flock;
    }

    @Override
    public void close() {
        long ignored = SystemCall.CLOSE.call(number, 0, 0);
    }
}
