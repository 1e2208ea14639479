package io.holdfast.app.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;

/**
 * Where a command speaks: results to {@code out}, all else to {@code err}. It knows whether a person is looking at
 * either, and whether the command was asked for JSON, so that commands need not.
 */
public final class Console {

    /** Set by the launcher, which can ask cheaply: {@code out}, {@code err}, both, or absent. */
    static final String TERMINAL_PROPERTY = "io.holdfast.terminal";

    private static final Duration QUIET = Duration.ofMillis(700);
    private static final int DEFAULT_WIDTH = 100;
    private static final int LEAST_WIDTH = 60;
    private static final int MOST_WIDTH = 140;

    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean outIsTerminal;
    private final boolean errIsTerminal;
    private final int width;
    private final Duration quiet;
    private boolean json;

    private Console(
            PrintWriter out, PrintWriter err, boolean outIsTerminal, boolean errIsTerminal, int width, Duration quiet) {
        this.out = out;
        this.err = err;
        this.outIsTerminal = outIsTerminal;
        this.errIsTerminal = errIsTerminal;
        this.width = width;
        this.quiet = quiet;
    }

    /** Standard output and standard error of this process. */
    public static Console ofProcess() {
        String terminal = System.getProperty(TERMINAL_PROPERTY, "");
        return new Console(
                new PrintWriter(System.out, false, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()),
                terminal.contains("out"),
                terminal.contains("err"),
                width(System.getenv()),
                QUIET);
    }

    /** For tests: nobody is looking. */
    public static Console of(PrintWriter out, PrintWriter err) {
        return new Console(out, err, false, false, DEFAULT_WIDTH, QUIET);
    }

    /** For tests: someone is looking, and sees the progress at once. */
    public static Console terminal(PrintWriter out, PrintWriter err) {
        return new Console(out, err, true, true, DEFAULT_WIDTH, Duration.ZERO);
    }

    private static int width(Map<String, String> environment) {
        try {
            int columns = Integer.parseInt(environment.getOrDefault("COLUMNS", ""));
            return Math.clamp(columns, LEAST_WIDTH, MOST_WIDTH);
        } catch (NumberFormatException e) {
            return DEFAULT_WIDTH;
        }
    }

    void useJson() {
        json = true;
    }

    /** Whether the answer goes out as JSON; for commands that show people something else beside it. */
    public boolean isJson() {
        return json;
    }

    boolean outIsTerminal() {
        return outIsTerminal;
    }

    int width() {
        return width;
    }

    PrintWriter out() {
        return out;
    }

    PrintWriter err() {
        return err;
    }

    /**
     * A line for people, at once, for commands that run for long; the result itself belongs into the {@link Answer}.
     * With {@code --json} it goes to standard error, since standard output then holds one object and nothing else.
     */
    public void say(String line) {
        PrintWriter writer = json ? err : out;
        writer.println(line);
        writer.flush();
    }

    /** As {@link #say}, for commands that do nothing but show: they end when nobody reads any more ({@code | head}). */
    public void show(String line) {
        say(line);
        if (!json && out.checkError()) {
            throw new ClosedOutput();
        }
    }

    /** A line about the work, not of it: always to standard error. */
    public void note(String line) {
        err.println(line);
        err.flush();
    }

    /** Shows how far the work is, on a terminal; does nothing elsewhere. */
    public Progress progress(String label, long total) {
        return new Progress(errIsTerminal ? new Progress.Screen(err, width, quiet) : null, label, total);
    }
}
