package io.holdfast.bench;

import io.holdfast.app.cli.Console;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** One run of a suite: how large it may be, and where its rows go. */
public final class Run {

    private final boolean quick;
    private final Console console;
    private final List<Path> traces;
    private final int minutes;
    private final Set<String> parts;
    private final List<Row> rows = new ArrayList<>();

    Run(boolean quick, List<Path> traces, int minutes, Set<String> parts, Console console) {
        this.minutes = minutes;
        this.parts = Set.copyOf(parts);
        this.traces = List.copyOf(traces);
        this.quick = quick;
        this.console = console;
    }

    /** A quick run has all rows at smaller sizes, and ends within 45 seconds. */
    public boolean quick() {
        return quick;
    }

    /** A size that depends on it. */
    public int size(int full, int quick) {
        return this.quick ? quick : full;
    }

    /** Request traces to replay, where the suite can. */
    public List<Path> traces() {
        return traces;
    }

    /** How long a suite runs that has no natural end. */
    public int minutes() {
        return minutes;
    }

    /** Whether this part of the suite is to be measured: all are, unless some were named. */
    public boolean includes(String part) {
        return parts.isEmpty() || parts.contains(part);
    }

    public void row(Row row) {
        rows.add(row);
    }

    /** What is being done now, for the person who waits. */
    public void note(String line) {
        console.note("  " + line);
    }

    List<Row> rows() {
        return rows;
    }
}
