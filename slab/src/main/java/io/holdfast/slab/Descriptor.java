package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

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
    private static final int ENOENT = 2;
    private static final int EAGAIN = 11;
    private static final int EACCES = 13;

    private static final StructLayout FLOCK = MemoryLayout.structLayout(
            ValueLayout.JAVA_SHORT.withName("type"),
            ValueLayout.JAVA_SHORT.withName("whence"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("start"),
            ValueLayout.JAVA_LONG.withName("length"),
            ValueLayout.JAVA_INT.withName("pid"),
            MemoryLayout.paddingLayout(4));
    private static final VarHandle TYPE = FLOCK.varHandle(MemoryLayout.PathElement.groupElement("type"));
    private static final VarHandle START = FLOCK.varHandle(MemoryLayout.PathElement.groupElement("start"));
    private static final VarHandle LENGTH = FLOCK.varHandle(MemoryLayout.PathElement.groupElement("length"));
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
            MemorySegment error = scratch.allocate(Native.ERRNO);
            MemorySegment name = scratch.allocateFrom(path.toAbsolutePath().toString());
            int number = (int) Native.OPEN.invokeExact(error, name, flags | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
            if (number < 0) {
                int errno = errno(error);
                throw errno == ENOENT
                        ? new NoSuchFileException(path.toString())
                        : new IOException(path + ": open ended with errno " + errno);
            }
            return new Descriptor(path, number);
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    /** The user that this process acts as; /proc/self tells another one of processes that may not be dumped. */
    static int effectiveUser() {
        try {
            return (int) Native.GETEUID.invokeExact();
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
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
            return control(scratch, F_OFD_SETLK, at) != null;
        }
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
            MemorySegment found = control(scratch, F_OFD_GETLK, at);
            return found == null || (short) TYPE.get(found, 0L) != F_UNLCK;
        }
    }

    /** What the kernel returned; null if another descriptor has the byte locked. */
    private @Nullable MemorySegment control(Arena scratch, int command, long at) {
        MemorySegment error = scratch.allocate(Native.ERRNO);
        MemorySegment flock = scratch.allocate(FLOCK);
        TYPE.set(flock, 0L, F_WRLCK);
        START.set(flock, 0L, at);
        LENGTH.set(flock, 0L, 1L);
        int returned;
        try {
            returned = (int) Native.FCNTL.invokeExact(error, number, command, flock);
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
        if (returned >= 0) {
            return flock;
        }
        int errno = errno(error);
        if (errno == EAGAIN || errno == EACCES) {
            return null;
        }
        throw new HoldfastException(
                Category.MISUSE,
                "cannot lock a byte of " + path + ": errno " + errno,
                "put the cache on a file system with locks, such as tmpfs, ext4 or xfs",
                null);
    }

    private static int errno(MemorySegment error) {
        return error.get(ValueLayout.JAVA_INT, 0);
    }

    @Override
    public void close() {
        try {
            int ignored = (int) Native.CLOSE.invokeExact(number);
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    /** Made when first needed: linking takes a tenth of a second. */
    private static final class Native {

        static final StructLayout ERRNO = Linker.Option.captureStateLayout();
        static final MethodHandle OPEN = function(
                "open",
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT),
                Linker.Option.firstVariadicArg(2),
                Linker.Option.captureCallState("errno"));
        static final MethodHandle FCNTL = function(
                "fcntl",
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS),
                Linker.Option.firstVariadicArg(2),
                Linker.Option.captureCallState("errno"));
        static final MethodHandle CLOSE =
                function("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        static final MethodHandle GETEUID = function("geteuid", FunctionDescriptor.of(ValueLayout.JAVA_INT));

        private static MethodHandle function(String name, FunctionDescriptor type, Linker.Option... options) {
            Linker linker = Linker.nativeLinker();
            return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
        }
    }
}
