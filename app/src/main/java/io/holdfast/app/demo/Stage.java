package io.holdfast.app.demo;

import io.holdfast.Settings;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.why.WhyCommand;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a chapter is told on: the server, a folder, the listener; and what it claims, checked as it is said. */
final class Stage {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Console console;
    private final Map<String, @Nullable Object> figures = new LinkedHashMap<>();
    private final List<String> failures = new ArrayList<>();
    final Holdfast holdfast;
    final Path folder;

    Stage(Holdfast holdfast, Path folder, Console console) {
        this.holdfast = holdfast;
        this.folder = folder;
        this.console = console;
    }

    void say(String line) {
        console.say("    " + line);
    }

    Progress bar(String label, long total) {
        return console.progress(label, total);
    }

    /** A figure that was measured just now. */
    void figure(String name, @Nullable Object value) {
        figures.put(name, value);
    }

    /** A claim of the story; if it does not hold, the demo fails and goes on. */
    void claim(boolean holds, String claim) {
        console.say((holds ? "    ok  " : "    NOT ") + claim);
        if (!holds) {
            failures.add(claim);
        }
    }

    /** Waits until something is so; whether it became so. */
    boolean await(Callable<Boolean> so) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!so.call()) {
            if (System.nanoTime() - deadline > 0) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
        return true;
    }

    /** Shows what {@code holdfast why} says. */
    void why(io.holdfast.Why why) {
        say("$ holdfast why " + why.thing());
        WhyCommand.lines(why).forEach(line -> say("  " + line));
    }

    /** A connection of its own, for measurements and for what must not disturb the others. */
    RedisLink connect() {
        return RedisLink.connect(Settings.none()
                .set(LinkSettings.URI, holdfast.where())
                .set(LinkSettings.TIMEOUT, Duration.ofMinutes(1)));
    }

    /** Another JVM with the same class path. */
    Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    Map<String, @Nullable Object> figures() {
        return figures;
    }

    List<String> failures() {
        return failures;
    }

    static String number(double value) {
        return String.format(Locale.ROOT, value < 10 ? "%.1f" : "%,.0f", value);
    }

    static double millis(long nanos) {
        return nanos / 1e6;
    }
}
