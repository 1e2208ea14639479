package io.holdfast;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;

/**
 * The values given for settings, from the strongest source to the weakest: set in code, properties, environment; what
 * none of them gives has its default. A property {@code holdfast.…} that no setting knows is refused, so that a typing
 * error is not silently a default.
 */
public final class Settings {

    private static final int NEAR_NAMES = 3;

    private final Map<Setting<?>, Object> inCode = new HashMap<>();
    private final Map<String, String> properties;
    private final Map<String, String> environment;

    private Settings(Map<String, String> properties, Map<String, String> environment) {
        this.properties = properties;
        this.environment = environment;
    }

    /** Defaults only. */
    public static Settings none() {
        return new Settings(Map.of(), Map.of());
    }

    /** System properties and environment of this process. */
    public static Settings ofProcess() {
        return of(System.getProperties(), System.getenv());
    }

    public static Settings of(Properties properties, Map<String, String> environment) {
        Map<String, String> texts = new HashMap<>();
        for (String name : properties.stringPropertyNames()) {
            texts.put(name, properties.getProperty(name));
        }
        return new Settings(texts, Map.copyOf(environment));
    }

    /** Sets a value in code; it is checked now. */
    public <T> Settings set(Setting<T> setting, T value) {
        inCode.put(setting, setting.check(value));
        return this;
    }

    @SuppressWarnings("unchecked") // set() is the only writer and keeps key and value of one type
    public <T> T get(Setting<T> setting) {
        Object set = inCode.get(setting);
        if (set != null) {
            return (T) set;
        }
        String text = properties.get(setting.propertyName());
        if (text == null) {
            text = environment.get(setting.environmentName());
        }
        return text == null ? setting.defaultValue() : setting.parse(text);
    }

    /** The names that were perhaps meant: those of the same part, by how much of their beginning is the same. */
    private static String near(String given, Collection<String> names) {
        List<String> alike = names.stream()
                .filter(name -> sameBeginning(name, given) > given.lastIndexOf('.'))
                .sorted(Comparator.comparingInt((String name) -> -sameBeginning(name, given)))
                .limit(NEAR_NAMES)
                .toList();
        String all = "docs/configuration.md lists all settings";
        return alike.isEmpty() ? all : "did you mean " + String.join(" or ", alike) + "? " + all;
    }

    private static int sameBeginning(String one, String other) {
        int length = 0;
        while (length < Math.min(one.length(), other.length()) && one.charAt(length) == other.charAt(length)) {
            length++;
        }
        return length;
    }

    /** Refuses properties that begin with {@code prefix} and are none of the known settings. */
    public void refuseUnknown(String prefix, Collection<Setting<?>> known) {
        TreeSet<String> names = new TreeSet<>();
        known.forEach(setting -> names.add(setting.propertyName()));
        for (String given : properties.keySet()) {
            if (given.startsWith(prefix) && !names.contains(given)) {
                throw HoldfastException.misuse("unknown setting " + given, near(given, names));
            }
        }
    }
}
