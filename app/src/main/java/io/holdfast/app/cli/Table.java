package io.holdfast.app.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Rows under named columns. For people: aligned, numbers to the right, no trailing blanks, and what would move the
 * cursor or colour the terminal is written out. For programs: one object per row, its fields named as the columns are.
 */
public final class Table {

    private final List<String> columns;
    private final List<List<@Nullable Object>> rows = new ArrayList<>();

    private Table(List<String> columns) {
        this.columns = columns;
    }

    /** The names are JSON fields as well: {@code lapsesIn}, shown to people as {@code LAPSES IN}. */
    public static Table of(String... columns) {
        return new Table(List.of(columns));
    }

    public Table row(@Nullable Object... cells) {
        if (cells.length != columns.size()) {
            throw new IllegalArgumentException(cells.length + " cells for the columns " + columns);
        }
        List<@Nullable Object> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(cell);
        }
        rows.add(row);
        return this;
    }

    public int size() {
        return rows.size();
    }

    List<Map<String, @Nullable Object>> json() {
        List<Map<String, @Nullable Object>> objects = new ArrayList<>();
        for (List<@Nullable Object> row : rows) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            for (int column = 0; column < columns.size(); column++) {
                object.put(columns.get(column), row.get(column));
            }
            objects.add(object);
        }
        return objects;
    }

    /** The aligned lines, the header first. */
    public List<String> lines() {
        int count = columns.size();
        int[] widths = new int[count];
        boolean[] numbers = new boolean[count];
        for (int column = 0; column < count; column++) {
            widths[column] = TextWidth.of(title(columns.get(column)));
            for (List<@Nullable Object> row : rows) {
                Object cell = row.get(column);
                widths[column] = Math.max(widths[column], TextWidth.of(text(cell)));
            }
            int at = column;
            numbers[column] = rows.stream().map(row -> row.get(at)).anyMatch(Number.class::isInstance)
                    && rows.stream().map(row -> row.get(at)).allMatch(cell -> cell == null || cell instanceof Number);
        }
        List<String> lines = new ArrayList<>();
        lines.add(line(columns.stream().map(Table::title).toList(), widths, numbers));
        for (List<@Nullable Object> row : rows) {
            lines.add(line(row.stream().map(Table::text).toList(), widths, numbers));
        }
        return lines;
    }

    private static String line(List<String> cells, int[] widths, boolean[] numbers) {
        StringBuilder line = new StringBuilder();
        for (int column = 0; column < cells.size(); column++) {
            String cell = cells.get(column);
            String blanks = " ".repeat(widths[column] - TextWidth.of(cell));
            line.append(column == 0 ? "" : "  ");
            line.append(numbers[column] ? blanks + cell : cell + blanks);
        }
        return line.toString().stripTrailing();
    }

    private static String title(String column) {
        return column.replaceAll("([a-z])([A-Z])", "$1 $2").toUpperCase(Locale.ROOT);
    }

    private static String text(@Nullable Object cell) {
        return switch (cell) {
            case null -> "-";
            case Double number -> Json.number(number);
            case Enum<?> word -> Json.word(word);
            default -> TextWidth.visible(Json.plain(cell));
        };
    }
}
