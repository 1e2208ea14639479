package io.holdfast.slab;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The kernel's calls that the JDK has no method for, by their numbers on x86-64. All go through one function of the C
 * library: linking one costs a process some hundredths of a second of its start, and several JVMs may start at once.
 */
enum SystemCall {
    OPEN(2),
    CLOSE(3),
    MADVISE(28),
    GETPID(39),
    FCNTL(72),
    GETEUID(107);

    private final long number;

    SystemCall(long number) {
        this.number = number;
    }

    /** What the kernel returned; if that is an error, its number below zero. */
    long call(long first, long second, long third) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment error = scratch.allocate(Linker.Option.captureStateLayout());
            long returned = (long) Native.SYSCALL.invokeExact(error, number, first, second, third);
            return returned >= 0 ? returned : -error.get(ValueLayout.JAVA_INT, 0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    /** Made when first needed. */
    private static final class Native {

        static final MethodHandle SYSCALL = syscall();

        private static MethodHandle syscall() {
            Linker linker = Linker.nativeLinker();
            return linker.downcallHandle(
                    linker.defaultLookup().findOrThrow("syscall"),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG),
                    Linker.Option.firstVariadicArg(1),
                    Linker.Option.captureCallState("errno"));
        }
    }
}
