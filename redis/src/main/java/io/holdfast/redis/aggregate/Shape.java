package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.redis.aggregate.Wire.Reader;
import io.holdfast.redis.aggregate.Wire.Writer;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How the values of one type are written and read.
 *
 * @param form one of the forms of {@link Wire}
 * @param absent what a reader has if nothing was written; the same value need not be written
 */
record Shape(
        int form,
        BiConsumer<Writer, Object> writer,
        Function<Reader, Object> reader,
        @Nullable Object absent) {

    void write(Writer out, Object value) {
        writer.accept(out, value);
    }

    Object read(Reader in) {
        return reader.apply(in);
    }

    /** The shape of a type; {@code where} names it for people. */
    static Shape of(Type type, String where) {
        if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
            Type[] arguments = generic.getActualTypeArguments();
            if (raw == List.class) {
                return list(of(arguments[0], where));
            } else if (raw == Set.class) {
                return set(of(arguments[0], where));
            } else if (raw == Map.class) {
                return map(of(arguments[0], where), of(arguments[1], where));
            } else if (raw == Optional.class) {
                return optional(of(arguments[0], where));
            } else if (raw.isRecord()) {
                throw unknown(type, where);
            }
        }
        if (type instanceof Class<?> plain) {
            if (plain.isEnum()) {
                return enumeration(plain);
            } else if (plain.isRecord()) {
                return RecordShape.of(plain).asShape();
            }
            Shape simple = simple(plain);
            if (simple != null) {
                return simple;
            }
        }
        throw unknown(type, where);
    }

    private static HoldfastException unknown(Type type, String where) {
        return HoldfastException.misuse(
                where + " is of type " + type.getTypeName() + ", which the built-in codec does not know",
                "use records, numbers, text, enums, Instant, Duration, LocalDate, UUID, byte[], Optional, List, Set and"
                        + " Map of these, or give a codec of your own");
    }

    private static @Nullable Shape simple(Class<?> type) {
        return switch (type.getName()) {
            case "long" -> number(value -> value, 0L);
            case "int" -> number(Math::toIntExact, 0);
            case "short" -> number(value -> narrow(value, (short) (long) value), (short) 0);
            case "byte" -> number(value -> narrow(value, (byte) (long) value), (byte) 0);
            case "java.lang.Long" -> number(value -> value, null);
            case "java.lang.Integer" -> number(Math::toIntExact, null);
            case "boolean", "java.lang.Boolean" ->
                new Shape(
                        Wire.NUMBER,
                        (out, value) -> out.signed((Boolean) value ? 1 : 0),
                        in -> in.signed() != 0,
                        type.isPrimitive() ? false : null);
            case "char" ->
                new Shape(
                        Wire.NUMBER, (out, value) -> out.signed((Character) value), in -> (char) in.signed(), (char) 0);
            case "double", "java.lang.Double" ->
                new Shape(
                        Wire.LONG,
                        (out, value) -> out.big(Double.doubleToLongBits((Double) value), 8),
                        in -> Double.longBitsToDouble(in.big(8)),
                        type.isPrimitive() ? 0.0 : null);
            case "float", "java.lang.Float" ->
                new Shape(
                        Wire.INT,
                        (out, value) -> out.big(Float.floatToIntBits((Float) value), 4),
                        in -> Float.intBitsToFloat((int) in.big(4)),
                        type.isPrimitive() ? 0.0f : null);
            case "java.lang.String" -> bytes(value -> ((String) value).getBytes(UTF_8), Reader::text);
            case "[B" -> bytes(value -> (byte[]) value, Reader::rest);
            case "java.math.BigInteger" ->
                bytes(value -> ((BigInteger) value).toByteArray(), in -> new BigInteger(in.rest()));
            case "java.math.BigDecimal" ->
                bytes(value -> value.toString().getBytes(UTF_8), in -> new BigDecimal(in.text()));
            case "java.time.LocalDate" ->
                new Shape(
                        Wire.NUMBER,
                        (out, value) -> out.signed(((LocalDate) value).toEpochDay()),
                        in -> LocalDate.ofEpochDay(in.signed()),
                        null);
            case "java.time.Instant" ->
                written(
                        (out, value) -> {
                            Instant instant = (Instant) value;
                            out.signed(instant.getEpochSecond());
                            out.signed(instant.getNano());
                        },
                        in -> Instant.ofEpochSecond(in.signed(), in.signed()));
            case "java.time.Duration" ->
                written(
                        (out, value) -> {
                            Duration duration = (Duration) value;
                            out.signed(duration.toSeconds());
                            out.signed(duration.toNanosPart());
                        },
                        in -> Duration.ofSeconds(in.signed(), in.signed()));
            case "java.util.UUID" ->
                written(
                        (out, value) -> {
                            out.big(((UUID) value).getMostSignificantBits(), 8);
                            out.big(((UUID) value).getLeastSignificantBits(), 8);
                        },
                        in -> new UUID(in.big(8), in.big(8)));
            default -> null;
        };
    }

    private static Object narrow(long value, Object narrowed) {
        if (((Number) narrowed).longValue() != value) {
            throw Wire.corrupt(value + " does not fit into the type of its field");
        }
        return narrowed;
    }

    private static Shape number(Function<Long, Object> convert, @Nullable Object absent) {
        return new Shape(
                Wire.NUMBER,
                (out, value) -> out.signed(((Number) value).longValue()),
                in -> convert.apply(in.signed()),
                absent);
    }

    private static Shape bytes(Function<Object, byte[]> to, Function<Reader, Object> from) {
        return new Shape(Wire.BYTES, (out, value) -> out.bytes(to.apply(value)), in -> from.apply(in.part()), null);
    }

    private static Shape written(BiConsumer<Writer, Object> to, Function<Reader, Object> from) {
        return within(to, from, null);
    }

    static Shape within(BiConsumer<Writer, Object> to, Function<Reader, Object> from, @Nullable Object absent) {
        return new Shape(
                Wire.BYTES,
                (out, value) -> {
                    Writer inner = new Writer();
                    to.accept(inner, value);
                    out.bytes(inner.done());
                },
                in -> from.apply(in.part()),
                absent);
    }

    private static Shape enumeration(Class<?> type) {
        Map<String, Object> constants = new LinkedHashMap<>();
        for (Object constant : Objects.requireNonNull(type.getEnumConstants())) {
            constants.put(((Enum<?>) constant).name(), constant);
        }
        return bytes(value -> ((Enum<?>) value).name().getBytes(UTF_8), in -> {
            String name = in.text();
            Object constant = constants.get(name);
            if (constant == null) {
                throw Wire.corrupt("'" + name + "' is no constant of " + type.getSimpleName());
            }
            return constant;
        });
    }

    private static Shape optional(Shape of) {
        return within(
                (out, value) -> {
                    out.one(of.form);
                    of.write(out, ((Optional<?>) value).orElseThrow());
                },
                in -> {
                    expect(of, in);
                    return Optional.of(of.read(in));
                },
                Optional.empty());
    }

    private static Shape list(Shape of) {
        return within(
                (out, value) -> {
                    out.one(of.form);
                    out.unsigned(((List<?>) value).size());
                    ((List<?>) value).forEach(element -> of.write(out, element));
                },
                in -> {
                    expect(of, in);
                    int count = in.count();
                    List<Object> values = new ArrayList<>(count);
                    for (int i = 0; i < count; i++) {
                        values.add(of.read(in));
                    }
                    return Collections.unmodifiableList(values);
                },
                List.of());
    }

    /** Elements are written in the order of their bytes, so that equal sets are equal bytes. */
    private static Shape set(Shape of) {
        return within(
                (out, value) -> {
                    out.one(of.form);
                    List<byte[]> elements = new ArrayList<>();
                    ((Set<?>) value).forEach(element -> elements.add(alone(of, element)));
                    elements.sort(Arrays::compare);
                    out.unsigned(elements.size());
                    elements.forEach(out::raw);
                },
                in -> {
                    expect(of, in);
                    int count = in.count();
                    Set<Object> values = new LinkedHashSet<>();
                    for (int i = 0; i < count; i++) {
                        values.add(of.read(in));
                    }
                    return Collections.unmodifiableSet(values);
                },
                Set.of());
    }

    private static Shape map(Shape keys, Shape values) {
        return within(
                (out, value) -> {
                    out.one(keys.form);
                    out.one(values.form);
                    TreeMap<byte[], byte[]> entries = new TreeMap<>(Arrays::compare);
                    ((Map<?, ?>) value).forEach((key, one) -> entries.put(alone(keys, key), alone(values, one)));
                    out.unsigned(entries.size());
                    entries.forEach((key, one) -> {
                        out.raw(key);
                        out.raw(one);
                    });
                },
                in -> {
                    expect(keys, in);
                    expect(values, in);
                    int count = in.count();
                    Map<Object, Object> map = new LinkedHashMap<>();
                    for (int i = 0; i < count; i++) {
                        Object key = keys.read(in);
                        map.put(key, values.read(in));
                    }
                    return Collections.unmodifiableMap(map);
                },
                Map.of());
    }

    private static byte[] alone(Shape shape, Object value) {
        Writer out = new Writer();
        shape.write(out, value);
        return out.done();
    }

    private static void expect(Shape shape, Reader in) {
        int form = in.one();
        if (form != shape.form) {
            throw Wire.corrupt("elements are of form " + form + " where " + shape.form + " is expected");
        }
    }
}
