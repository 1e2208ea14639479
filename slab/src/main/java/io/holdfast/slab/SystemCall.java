package io.holdfast.slab;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The kernel's calls that the JDK has no method for, by their numbers on x86-64. All go through one function of the C
 * library: linking one is half of what opening a cache costs, and several JVMs may start at once. For the same reason the
 * number of an error is not asked for: what may be wrong is looked at by other means.
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

    /** What the kernel returned; -1 for any error. */
    long call(long first, long second, long third) {
        try {
            return (long) Native.SYSCALL.invokeExact(number, first, second, third);
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
                    Linker.Option.firstVariadicArg(1));
        }
    }
}
