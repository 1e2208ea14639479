package io.holdfast.app.cli;

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
    private final List<String> lines = new ArrayList<>();
    private final Map<String, @Nullable Object> fields = new LinkedHashMap<>();

    private Answer(ExitCode code) {
        this.code = code;
    }

    public static Answer ok() {
        return new Answer(ExitCode.OK);
    }

    /** The work was done and something is wrong: exit code 1. */
    public static Answer finding() {
        return new Answer(ExitCode.FINDING);
    }

    public static Answer of(ExitCode code) {
        return new Answer(code);
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

    List<String> lines() {
        return lines;
    }

    Map<String, @Nullable Object> fields() {
        return fields;
    }
}
