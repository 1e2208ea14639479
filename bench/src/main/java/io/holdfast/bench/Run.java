package io.holdfast.bench;

import io.holdfast.app.cli.Console;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One run of a suite: how large it may be, and where its rows go. */
public final class Run {

    private final boolean quick;
    private final Console console;
    private final List<Path> traces;
    private final int minutes;
    private final List<Row> rows = new ArrayList<>();

    Run(boolean quick, List<Path> traces, int minutes, Console console) {
        this.minutes = minutes;
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
