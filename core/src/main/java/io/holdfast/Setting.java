package io.holdfast;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One thing that can be configured: its name, its default, what is allowed, and how it is written as text. The same
 * object checks a value from a builder, from properties and from the environment, so that nonsense is refused
 * everywhere with the same line: the setting's name, the value given, the values allowed.
 *
 * <p>A setting {@code redis.timeout} is the property {@code holdfast.redis.timeout} and the environment variable {@code
 * HOLDFAST_REDIS_TIMEOUT}. Every setting is listed in docs/configuration.md; a test sees to it.
 */
public final class Setting<T> {

    private static final Pattern DURATION = Pattern.compile("(\\d{1,12})\\s*(ms|s|m|h|d)");
    private static final Pattern BYTES = Pattern.compile("(\\d{1,12})\\s*(B|KiB|MiB|GiB|TiB)?");

    private final String name;
    private final T defaultValue;
    private final String allowed;
    private final Predicate<T> accepts;
    private final Function<String, T> reader;
    private final Function<T, String> writer;

    private Setting(
            String name,
            T defaultValue,
            String allowed,
            Predicate<T> accepts,
            Function<String, T> reader,
            Function<T, String> writer) {
        this.name = name;
        this.defaultValue = defaultValue;
        this.allowed = allowed;
        this.accepts = accepts;
        this.reader = reader;
        this.writer = writer;
    }

    public static Setting<Duration> duration(String name, Duration defaultValue, Duration least, Duration most) {
        return new Setting<>(
                name,
                defaultValue,
                text(least) + " to " + text(most),
                value -> value.compareTo(least) >= 0 && value.compareTo(most) <= 0,
                Setting::parseDuration,
                Setting::text);
    }

    public static Setting<Integer> integer(String name, int defaultValue, int least, int most) {
        return new Setting<>(
                name,
                defaultValue,
                least + " to " + most,
                value -> value >= least && value <= most,
                Integer::valueOf,
                String::valueOf);
    }

    /** A number of bytes, written with a unit: {@code 64MiB}. */
    public static Setting<Long> bytes(String name, long defaultValue, long least, long most) {
        return new Setting<>(
                name,
                defaultValue,
                bytesText(least) + " to " + bytesText(most),
                value -> value >= least && value <= most,
                Setting::parseBytes,
                Setting::bytesText);
    }

    public static Setting<String> text(String name, String defaultValue, Pattern accepted, String allowed) {
        return new Setting<>(
                name,
                defaultValue,
                allowed,
                value -> accepted.matcher(value).matches(),
                Function.identity(),
                Function.identity());
    }

    public static Setting<Boolean> flag(String name, boolean defaultValue) {
        return new Setting<>(
                name,
                defaultValue,
                "true or false",
                value -> true,
                text -> switch (text) {
                    case "true" -> true;
                    case "false" -> false;
                    default -> throw new IllegalArgumentException(text);
                },
                String::valueOf);
    }

    public static <E extends Enum<E>> Setting<E> choice(String name, E defaultValue) {
        Class<E> type = defaultValue.getDeclaringClass();
        StringBuilder words = new StringBuilder();
        for (E constant : type.getEnumConstants()) {
            words.append(words.isEmpty() ? "" : ", ").append(constant.name().toLowerCase(Locale.ROOT));
        }
        return new Setting<>(
                name,
                defaultValue,
                words.toString(),
                value -> true,
                text -> Enum.valueOf(type, text.toUpperCase(Locale.ROOT)),
                value -> value.name().toLowerCase(Locale.ROOT));
    }

    public String name() {
        return name;
    }

    public T defaultValue() {
        return defaultValue;
    }

    /** The values allowed, for people. */
    public String allowed() {
        return allowed;
    }

    /** The default as it would be written. */
    public String defaultText() {
        return writer.apply(defaultValue);
    }

    public String propertyName() {
        return "holdfast." + name;
    }

    public String environmentName() {
        return "HOLDFAST_" + name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /** The value itself if it is allowed; otherwise MISUSE. */
    public T check(T value) {
        if (!accepts.test(value)) {
            throw refusal(writer.apply(value));
        }
        return value;
    }

    /** Reads the text form and checks it. */
    public T parse(String text) {
        T value;
        try {
            value = reader.apply(text.strip());
        } catch (IllegalArgumentException e) {
            throw refusal(text);
        }
        return check(value);
    }

    private HoldfastException refusal(String given) {
        return HoldfastException.misuse(
                "setting " + name + " = '" + given + "' is not allowed; allowed: " + allowed,
                "set " + name + " to " + allowed + " (default " + (defaultText().isEmpty() ? "empty" : defaultText())
                        + ")");
    }

    /** Reads {@code 250ms}, {@code 5s}, {@code 15m}, {@code 1h}, {@code 7d}. */
    public static Duration parseDuration(String text) {
        Matcher matcher = DURATION.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not a duration such as 250ms, 5s, 15m, 1h or 7d");
        }
        long count = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(count);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
    }

    /** Reads {@code 512}, {@code 16KiB}, {@code 64MiB}, {@code 2GiB}. */
    public static long parseBytes(String text) {
        Matcher matcher = BYTES.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not a size such as 512, 16KiB, 64MiB or 2GiB");
        }
        String unit = matcher.group(2);
        int power = unit == null ? 0 : "BKMGT".indexOf(unit.charAt(0));
        long count = Long.parseLong(matcher.group(1));
        if (count > Long.MAX_VALUE >> (10 * power)) {
            throw new IllegalArgumentException("'" + text + "' is too large");
        }
        return count << (10 * power);
    }

    /** The shortest exact text form of a duration. */
    public static String text(Duration duration) {
        long millis = duration.toMillis();
        if (!duration.equals(Duration.ofMillis(millis))) {
            return duration.toNanos() + "ns";
        }
        if (millis % 1000 != 0 || millis == 0) {
            return millis + "ms";
        }
        long seconds = millis / 1000;
        if (seconds % 86_400 == 0) {
            return seconds / 86_400 + "d";
        }
        if (seconds % 3_600 == 0) {
            return seconds / 3_600 + "h";
        }
        return seconds % 60 == 0 ? seconds / 60 + "m" : seconds + "s";
    }

    private static String bytesText(long bytes) {
        int power = 0;
        long count = bytes;
        while (power < 4 && count != 0 && count % 1024 == 0) {
            count /= 1024;
            power++;
        }
        return count + (power == 0 ? "" : "BKMGT".charAt(power) + "iB");
    }

    @Override
    public String toString() {
        return name;
    }
}
