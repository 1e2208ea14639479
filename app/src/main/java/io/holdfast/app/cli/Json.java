package io.holdfast.app.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.holdfast.Setting;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;

/**
 * How values are written for programs: numbers to four significant digits, durations and times as text, enum constants
 * as lower-case words, records as objects.
 */
public final class Json {

    private static final JsonSerializer<Double> DOUBLES = (value, type, context) -> value.isNaN() || value.isInfinite()
            ? new JsonPrimitive(value.toString())
            : new JsonPrimitive(new BigDecimal(number(value)));
    private static final JsonSerializer<Enum<?>> WORDS = (value, type, context) -> new JsonPrimitive(word(value));
    private static final JsonSerializer<Object> TEXTS = (value, type, context) -> new JsonPrimitive(plain(value));

    private static final Gson GSON = new GsonBuilder()
            .disableHtmlEscaping()
            .serializeNulls()
            .setPrettyPrinting()
            .registerTypeAdapter(Double.class, DOUBLES)
            .registerTypeAdapter(double.class, DOUBLES)
            .registerTypeHierarchyAdapter(Enum.class, WORDS)
            .registerTypeAdapter(Duration.class, TEXTS)
            .registerTypeAdapter(Instant.class, TEXTS)
            .registerTypeHierarchyAdapter(Path.class, TEXTS)
            .create();

    private Json() {}

    /** One JSON value, indented, without a line end. */
    public static String text(Object value) {
        return GSON.toJson(value);
    }

    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static String plain(Object value) {
        return value instanceof Duration duration ? Setting.text(duration) : String.valueOf(value);
    }

    /** Four significant digits, never in scientific notation. */
    static String number(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return String.valueOf(value);
        }
        BigDecimal rounded = BigDecimal.valueOf(value).round(new MathContext(4)).stripTrailingZeros();
        return (rounded.scale() < 0 ? rounded.setScale(0) : rounded).toPlainString();
    }
}
