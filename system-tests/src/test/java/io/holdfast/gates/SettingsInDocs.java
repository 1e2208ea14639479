package io.holdfast.gates;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import io.holdfast.Setting;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Settings of the code that docs/configuration.md does not list with their defaults, and the other way round. */
final class SettingsInDocs {

    /** {@code | `name` | `default` | allowed | meaning |}. */
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z][a-z0-9.-]*)` \\| `?([^`|]*?)`? \\| (.*?) \\|");

    private SettingsInDocs() {}

    /** All constants of type {@link Setting}, by name. */
    static Map<String, Setting<?>> declared(JavaClasses classes) {
        Map<String, Setting<?>> settings = new TreeMap<>();
        for (JavaClass type : classes) {
            for (JavaField declared : type.getFields()) {
                if (declared.getModifiers().contains(JavaModifier.STATIC)
                        && declared.getRawType().isEquivalentTo(Setting.class)) {
                    Setting<?> setting = value(declared.reflect());
                    settings.put(setting.name(), setting);
                }
            }
        }
        return settings;
    }

    private static Setting<?> value(Field field) {
        try {
            field.setAccessible(true);
            return (Setting<?>) field.get(null);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static List<String> findings(Map<String, Setting<?>> declared, String page) {
        List<String> findings = new ArrayList<>();
        Map<String, String> listed = new TreeMap<>();
        Matcher row = ROW.matcher(page);
        while (row.find()) {
            listed.put(row.group(1), row.group(2));
        }
        declared.forEach((name, setting) -> {
            String written = listed.get(name);
            String expected = setting.defaultText().isEmpty() ? "empty" : setting.defaultText();
            String wanted = "| `" + name + "` | `" + expected + "` | " + setting.allowed() + " | … |";
            if (written == null) {
                findings.add("docs/configuration.md does not list " + name + ": add " + wanted);
            } else if (!written.equals(expected)) {
                findings.add(
                        "docs/configuration.md says that " + name + " is " + written + " by default: write " + wanted);
            }
        });
        listed.keySet().stream()
                .filter(name -> !declared.containsKey(name))
                .forEach(name -> findings.add("docs/configuration.md lists " + name + ", which no code knows"));
        return findings;
    }
}
