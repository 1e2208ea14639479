package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/** Draws values of the types that {@link RecordCodec} knows: small ones mostly, so that some are equal. */
final class Samples {

    private Samples() {}

    static Function<RandomGenerator, Object> of(Type type, String where) {
        if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
            Type[] arguments = generic.getActualTypeArguments();
            Function<RandomGenerator, Object> first = of(arguments[0], where);
            if (raw == List.class) {
                return random -> List.copyOf(some(random, first));
            } else if (raw == Set.class) {
                return random -> new LinkedHashSet<>(some(random, first));
            } else if (raw == Optional.class) {
                return random -> random.nextBoolean() ? Optional.empty() : Optional.of(first.apply(random));
            } else if (raw == Map.class) {
                Function<RandomGenerator, Object> second = of(arguments[1], where);
                return random -> {
                    Map<Object, Object> map = new LinkedHashMap<>();
                    some(random, first).forEach(key -> map.put(key, second.apply(random)));
                    return map;
                };
            }
        }
        if (type instanceof Class<?> plain) {
            if (plain.isRecord()) {
                return record(plain);
            } else if (plain.isEnum()) {
                Object[] constants = Objects.requireNonNull(plain.getEnumConstants());
                return random -> constants[random.nextInt(constants.length)];
            }
            return simple(plain, where);
        }
        throw unknown(type, where);
    }

    private static List<Object> some(RandomGenerator random, Function<RandomGenerator, Object> each) {
        List<Object> values = new ArrayList<>();
        int count = random.nextInt(4);
        for (int i = 0; i < count; i++) {
            values.add(each.apply(random));
        }
        return values;
    }

    private static Function<RandomGenerator, Object> record(Class<?> type) {
        RecordComponent[] components = type.getRecordComponents();
        List<Function<RandomGenerator, Object>> fields = new ArrayList<>();
        for (RecordComponent component : components) {
            fields.add(of(component.getGenericType(), type.getSimpleName() + "." + component.getName()));
        }
        try {
            Constructor<?> canonical = type.getDeclaredConstructor(
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new));
            canonical.setAccessible(true);
            return random -> {
                try {
                    return canonical.newInstance(
                            fields.stream().map(field -> field.apply(random)).toArray());
                } catch (ReflectiveOperationException e) {
                    throw new IllegalArgumentException("drawing a " + type.getSimpleName() + " failed", e);
                }
            };
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("every record has its constructor", e);
        }
    }

    private static Function<RandomGenerator, Object> simple(Class<?> type, String where) {
        return switch (type.getName()) {
            case "long", "java.lang.Long" -> Samples::number;
            case "int", "java.lang.Integer" -> random -> (int) number(random);
            case "short" -> random -> (short) number(random);
            case "byte" -> random -> (byte) number(random);
            case "boolean", "java.lang.Boolean" -> RandomGenerator::nextBoolean;
            case "char" -> random -> (char) ('a' + random.nextInt(26));
            case "double", "java.lang.Double" -> random -> number(random) / 8.0;
            case "float", "java.lang.Float" -> random -> (float) ((byte) number(random) / 8.0);
            case "java.lang.String" -> random -> "t" + random.nextInt(20);
            case "java.math.BigInteger" -> random -> BigInteger.valueOf(number(random));
            case "java.math.BigDecimal" -> random -> BigDecimal.valueOf(number(random), 2);
            case "java.time.LocalDate" -> random -> LocalDate.ofEpochDay(random.nextInt(20_000));
            case "java.time.Instant" -> random -> Instant.ofEpochMilli(number(random));
            case "java.time.Duration" -> random -> Duration.ofMillis(number(random));
            case "java.util.UUID" -> random -> new UUID(0, random.nextInt(20));
            default -> throw unknown(type, where);
        };
    }

    /** Small, zero, or anything that two sums do not overflow with. */
    private static long number(RandomGenerator random) {
        return switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> random.nextInt(-3, 4);
            case 2 -> random.nextInt(-1_000, 1_000);
            default -> random.nextInt(-1_000_000, 1_000_000);
        };
    }

    private static HoldfastException unknown(Type type, String where) {
        return HoldfastException.misuse(
                where + " is of type " + type.getTypeName() + ", which cannot be drawn",
                "use MergeLaws.values(random -> …, merge)");
    }
}
