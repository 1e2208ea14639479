package io.holdfast.testkit;

import io.holdfast.embedded.ScratchFolder;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;

/** What a {@link ChildJvm} really starts: the wanted {@code main}, and the promise to end when the parent has. */
final class ChildMain {

    private static final int PARENT_IS_GONE = 3;

    private ChildMain() {}

    /** @param arguments the parent's process id, a folder to remove in the parent's stead, the class, and what its {@code main} is given */
    public static void main(String[] arguments) throws Throwable {
        var unused = ProcessHandle.of(Long.parseLong(arguments[0]))
                .orElseThrow()
                .onExit()
                .thenRun(() -> {
                    ScratchFolder.remove(Path.of(arguments[1]));
                    Runtime.getRuntime().halt(PARENT_IS_GONE);
                });
        Method main = Class.forName(arguments[2]).getDeclaredMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) Arrays.copyOfRange(arguments, 3, arguments.length));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
