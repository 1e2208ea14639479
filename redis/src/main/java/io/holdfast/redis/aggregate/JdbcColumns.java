package io.holdfast.redis.aggregate;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The components of a record that a table can have as columns; none for other values. */
record JdbcColumns(List<Column> columns, Object sample) {

    record Column(String name, Class<?> type, Method accessor) {}

    /** What a type is called; durations are milliseconds, the rest that is text is text. */
    private static final Map<Class<?>, String> TYPES = Map.ofEntries(
            Map.entry(long.class, "bigint"),
            Map.entry(Long.class, "bigint"),
            Map.entry(int.class, "integer"),
            Map.entry(Integer.class, "integer"),
            Map.entry(short.class, "integer"),
            Map.entry(byte.class, "integer"),
            Map.entry(boolean.class, "boolean"),
            Map.entry(Boolean.class, "boolean"),
            Map.entry(double.class, "double precision"),
            Map.entry(Double.class, "double precision"),
            Map.entry(float.class, "double precision"),
            Map.entry(Float.class, "double precision"),
            Map.entry(String.class, "text"),
            Map.entry(UUID.class, "varchar(36)"),
            Map.entry(BigDecimal.class, "decimal(38, 10)"),
            Map.entry(Instant.class, "timestamp with time zone"),
            Map.entry(LocalDate.class, "date"),
            Map.entry(Duration.class, "bigint"));

    /** Words that databases keep for themselves, and our own columns: a component of such a name gets an underscore. */
    private static final Set<String> TAKEN = Set.of(
            "all",
            "and",
            "any",
            "array",
            "as",
            "asc",
            "between",
            "by",
            "case",
            "check",
            "column",
            "count",
            "cross",
            "current_date",
            "date",
            "day",
            "default",
            "desc",
            "distinct",
            "else",
            "end",
            "exists",
            "false",
            "fetch",
            "for",
            "foreign",
            "from",
            "full",
            "group",
            "having",
            "hour",
            "if",
            "in",
            "inner",
            "interval",
            "into",
            "is",
            "join",
            "key",
            "left",
            "like",
            "limit",
            "minute",
            "month",
            "natural",
            "not",
            "null",
            "offset",
            "on",
            "or",
            "order",
            "primary",
            "qualify",
            "references",
            "right",
            "row",
            "rownum",
            "second",
            "select",
            "set",
            "some",
            "table",
            "then",
            "to",
            "true",
            "union",
            "unique",
            "user",
            "using",
            "value",
            "values",
            "when",
            "where",
            "window",
            "with",
            "year",
            "set_name",
            "aggregate_key",
            "epoch",
            "token",
            "updates",
            "parts",
            "first_event",
            "last_event",
            "flushed_at",
            "digest",
            "value_bytes");

    static JdbcColumns of(Object value) {
        List<Column> columns = new ArrayList<>();
        RecordComponent @Nullable [] components = value.getClass().getRecordComponents();
        if (components != null) {
            for (RecordComponent component : components) {
                if (TYPES.containsKey(component.getType())
                        || component.getType().isEnum()) {
                    Method accessor = component.getAccessor();
                    accessor.setAccessible(true);
                    columns.add(new Column(columnName(component.getName()), component.getType(), accessor));
                }
            }
        }
        return new JdbcColumns(columns, value);
    }

    /** {@code pageViews} is {@code page_views}. */
    private static String columnName(String component) {
        String name = component.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
        return TAKEN.contains(name) ? name + "_" : name;
    }

    int count() {
        return columns.size();
    }

    String names() {
        return columns.stream().map(column -> ", " + column.name()).collect(Collectors.joining());
    }

    String definitions(boolean postgres) {
        return columns.stream()
                .map(column -> ", " + column.name() + " " + typeName(column.type(), postgres))
                .collect(Collectors.joining());
    }

    private static String typeName(Class<?> type, boolean postgres) {
        String name = type.isEnum() ? "text" : TYPES.getOrDefault(type, "text");
        return name.equals("text") && !postgres ? "varchar(1000000)" : name;
    }

    void bind(PreparedStatement insert, int from, Object value) throws SQLException {
        int index = from;
        for (Column column : columns) {
            try {
                bind(insert, index++, column.type(), column.accessor().invoke(value));
            } catch (ReflectiveOperationException e) {
                throw new IllegalArgumentException("reading " + column.name() + " failed", e);
            }
        }
    }

    private static void bind(PreparedStatement insert, int index, Class<?> type, @Nullable Object value)
            throws SQLException {
        switch (value) {
            case null -> insert.setNull(index, sqlType(type));
            case Instant instant -> JdbcTable.bind(insert, index, instant);
            case LocalDate date -> insert.setObject(index, date);
            case Duration duration -> insert.setLong(index, duration.toMillis());
            case UUID id -> insert.setString(index, id.toString());
            case Enum<?> constant -> insert.setString(index, constant.name());
            case Float number -> insert.setDouble(index, number);
            case Short number -> insert.setInt(index, number);
            case Byte number -> insert.setInt(index, number);
            default -> insert.setObject(index, value);
        }
    }

    private static int sqlType(Class<?> type) {
        if (type == Instant.class) {
            return Types.TIMESTAMP_WITH_TIMEZONE;
        } else if (type == LocalDate.class) {
            return Types.DATE;
        } else if (type == Duration.class || type == Long.class) {
            return Types.BIGINT;
        } else if (type == Integer.class) {
            return Types.INTEGER;
        } else if (type == Boolean.class) {
            return Types.BOOLEAN;
        } else if (type == Double.class || type == Float.class) {
            return Types.DOUBLE;
        } else if (type == BigDecimal.class) {
            return Types.DECIMAL;
        }
        return Types.VARCHAR;
    }
}
