package io.holdfast.testkit;

import io.holdfast.embedded.ScratchFolder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A second JVM with the test's class path, to be killed, stopped and talked to by lines.
 *
 * <p>It runs the {@code main} of any class, normally one nested in the test. The child says that it is ready by {@link
 * #sayReady()}; what it writes to standard output are its lines, what it reads from standard input is what the parent
 * {@linkplain #send sends}. Whatever happens to the test, the child ends with it.
 *
 * <p><b>Killing at a point.</b> A kill at a random time rarely hits the few instructions that matter. So code that must
 * survive a kill names its critical points: it has a constructor, visible in its own package only, that takes a {@code
 * Consumer<String>}, and calls it at each point:
 *
 * <pre>{@code
 * public SlabCache(Path file) {
 *     this(file, point -> {});                    // the product: nothing happens
 * }
 *
 * SlabCache(Path file, Consumer<String> points) { // the tests, in the same package
 *     ...
 * }
 *
 * private void link(long item) {
 *     journal.write(item);
 *     points.accept("journalled");
 *     ...
 * }
 * }</pre>
 *
 * <p>The child's {@code main} passes {@link KillPoint#ofThisJvm()}, which the parent sets by {@link Setup#killAt}: the
 * product knows nothing of the kit, and a test can kill at every point that a dry run with {@link KillPoint.Census}
 * has seen.
 */
public final class ChildJvm implements AutoCloseable {

    private static final String READY = "[child is ready]";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LINES_MAX = 100_000;

    private final Process process;
    private final Path folder;
    /** What the child wrote; empty when it has closed its standard output. */
    private final BlockingQueue<Optional<String>> lines = new ArrayBlockingQueue<>(LINES_MAX);

    private ChildJvm(Process process, Path folder) {
        this.process = process;
        this.folder = folder;
        Thread.ofVirtual().name("child-lines-" + process.pid()).start(this::readLines);
    }

    /** How a child is started. */
    public static final class Setup {

        private final Class<?> main;
        private final List<String> arguments = new ArrayList<>();
        private final List<String> options = new ArrayList<>();
        private final Map<String, String> properties = new TreeMap<>();
        private String classPath = ownClassPath();

        private Setup(Class<?> main) {
            this.main = main;
        }

        /** What {@code main} is given. */
        public Setup arguments(Object... given) {
            for (Object argument : given) {
                arguments.add(String.valueOf(argument));
            }
            return this;
        }

        /** Options of the JVM, such as {@code -Xmx1g}. */
        public Setup options(String... given) {
            options.addAll(List.of(given));
            return this;
        }

        public Setup property(String name, String value) {
            properties.put(name, value);
            return this;
        }

        Setup classPath(String given) {
            classPath = given;
            return this;
        }

        /** What {@link KillPoint#ofThisJvm()} answers in the child. */
        public Setup killAt(KillPoint point) {
            return property(KillPoint.PROPERTY, point.text());
        }

        /** Starts the child and waits until it {@linkplain #sayReady says} that it is ready. */
        public ChildJvm start() {
            ChildJvm child = launch();
            try {
                child.awaitLine(READY::equals);
                return child;
            } catch (RuntimeException | Error e) {
                child.close();
                throw e;
            }
        }

        /** Starts the child and does not wait for it. */
        public ChildJvm launch() {
            Path folder = scratchFolder();
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx256m",
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "--enable-native-access=ALL-UNNAMED",
                    "-XX:ErrorFile=" + folder.resolve("hs_err.log")));
            properties.forEach((name, value) -> command.add("-D" + name + "=" + value));
            command.addAll(options);
            command.addAll(List.of("-cp", classPath));
            command.add(ChildMain.class.getName());
            command.addAll(List.of(String.valueOf(ProcessHandle.current().pid()), folder.toString()));
            command.add(main.getName());
            command.addAll(arguments);
            try {
                Process process = new ProcessBuilder(command)
                        .redirectError(folder.resolve("stderr").toFile())
                        .start();
                return new ChildJvm(process, folder);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    static String ownClassPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path", ""));
    }

    public static Setup of(Class<?> main) {
        return new Setup(main);
    }

    /** In the child: tells the parent that it may begin. */
    public static void sayReady() {
        say(READY);
    }

    /** In the child: a line to the parent. */
    public static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Writes a line to the child's standard input. */
    public void send(String line) {
        try {
            OutputStream out = process.getOutputStream();
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("the child takes no lines; " + state(), e);
        }
    }

    /** The next line of the child, or {@code null} if it has ended without another. */
    public @Nullable String readLine() {
        try {
            Optional<String> line = lines.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            if (line == null) {
                throw new AssertionError("the child said nothing for " + PATIENCE.toSeconds() + " s; " + state());
            }
            if (line.isEmpty()) {
                lines.add(line); // for the next who asks
            }
            return line.orElse(null);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Reads lines up to the first that fits, and returns it. */
    public String awaitLine(Predicate<String> fits) {
        while (true) {
            String line = readLine();
            if (line == null) {
                awaitExit();
                throw new AssertionError("the child ended before the awaited line; " + state());
            }
            if (fits.test(line)) {
                return line;
            }
        }
    }

    /** Ends it with SIGKILL, also if it stands still, and returns when it is gone. */
    public void kill() {
        process.toHandle().destroyForcibly();
        awaitExit();
    }

    /** Stops it with SIGSTOP and returns when it stands still. */
    public void stall() {
        Signals.stall(pid());
    }

    /** Waits until it stands still by itself, at a {@link KillPoint#stallAt}. */
    public void awaitStalled() {
        Signals.awaitStalled(pid());
    }

    /** Lets it go on, with SIGCONT. */
    public void resume() {
        Signals.resume(pid());
    }

    /** Waits for its end. */
    public int awaitExit() {
        try {
            if (!process.waitFor(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("the child still runs after " + PATIENCE.toSeconds() + " s; " + state());
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Waits for its end, which must be by SIGKILL: that the kill point was reached. */
    public void awaitKilled() {
        int exit = awaitExit();
        if (exit != 128 + 9) {
            throw new AssertionError("the child was not killed; " + state());
        }
    }

    /** What it wrote to standard error. */
    public String errors() {
        try {
            return Files.readString(folder.resolve("stderr"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public void close() {
        kill();
        ScratchFolder.remove(folder);
    }

    private static Path scratchFolder() {
        try {
            return Files.createTempDirectory("holdfast-child-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String state() {
        String life = isAlive() ? "it lives" : "it ended with " + process.exitValue();
        return life + " and wrote to standard error: " + errors();
    }

    private void readLines() {
        try {
            try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
                String line;
                while ((line = reader.readLine()) != null) {
                    lines.put(Optional.of(line));
                }
            } catch (IOException e) {
                // its end of the pipe is gone
            }
            lines.put(Optional.empty());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
