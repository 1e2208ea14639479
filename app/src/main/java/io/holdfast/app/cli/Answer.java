package io.holdfast.app.cli;

import io.holdfast.HoldfastException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a command answers: lines for people, fields for programs, and an exit code. With {@code --json} only the fields
 * are printed, otherwise only the lines. A table is both.
 */
public final class Answer {

    private final ExitCode code;
    private final @Nullable Throwable cause;
    private final List<String> lines = new ArrayList<>();
    private final Map<String, @Nullable Object> fields = new LinkedHashMap<>();

    private Answer(ExitCode code, @Nullable Throwable cause) {
        this.code = code;
        this.cause = cause;
    }

    public static Answer ok() {
        return new Answer(ExitCode.OK, null);
    }

    /** The work was done and something is wrong: exit code 1. */
    public static Answer finding() {
        return new Answer(ExitCode.FINDING, null);
    }

    /**
     * The work failed after some of it was done, and the lines tell so. Programs get the failure as the field {@code
     * error}, the exit code is that of its category, {@code --verbose} shows its stack trace.
     */
    public static Answer failed(HoldfastException cause) {
        return new Answer(ExitCode.of(cause.category()), cause);
    }

    /** For people only. */
    public Answer line(String text) {
        lines.add(text);
        return this;
    }

    /** For programs only: text, number, boolean, enum, Duration, Instant, record, list or map. */
    public Answer field(String name, @Nullable Object value) {
        if (fields.put(name, value) != null) {
            throw new IllegalStateException("field " + name + " is given twice");
        }
        return this;
    }

    /** For both: aligned lines, and a list of objects under this name. */
    public Answer table(String name, Table table) {
        lines.addAll(table.lines());
        return field(name, table.json());
    }

    public ExitCode code() {
        return code;
    }

    @Nullable
    Throwable cause() {
        return cause;
    }

    /** The lines for people. */
    public List<String> text() {
        return List.copyOf(lines);
    }

    List<String> lines() {
        return lines;
    }

    Map<String, @Nullable Object> fields() {
        return fields;
    }
}
