package io.holdfast.redis.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every script keeps to the contract, and every script file is called by exactly one declaration. */
class ScriptTest {

    private static final Path CLASSES = Path.of("target/classes");
    private static final Pattern KEY_USE = Pattern.compile("KEYS\\[(\\d+)]");

    @Test
    void everyScriptFileIsDeclaredOnceWithTheSameHeader() throws Exception {
        // Loading a declaration compares the header with the Java call and throws if they differ.
        List<String> declared = new ArrayList<>();
        for (Class<?> owner : scriptOwners()) {
            for (Field field : owner.getDeclaredFields()) {
                if (field.getType() == Script.class && Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    Script script = (Script) field.get(null);
                    declared.add(owner.getPackageName().replace('.', '/') + "/" + script.name());
                }
            }
        }
        assertThat(declared).doesNotHaveDuplicates();
        assertThat(new TreeSet<>(declared)).isEqualTo(scriptFiles());
    }

    @Test
    void noScriptUsesAKeyThatItsHeaderDoesNotName() throws Exception {
        for (String file : scriptFiles()) {
            String source = Files.readString(CLASSES.resolve(file));
            int named = header(source, "KEYS").length;
            Matcher use = KEY_USE.matcher(source);
            while (use.find()) {
                assertThat(Integer.parseInt(use.group(1))).as(file).isLessThanOrEqualTo(named);
            }
            assertThat(source).as(file).doesNotContain("redis.call('KEYS'").doesNotContain("math.random");
        }
    }

    @Test
    void headerThatDiffersFromTheCallIsRefused() {
        assertThatThrownBy(() -> Script.load(ScriptTest.class, "sample.lua", "meta", "name count ids…", "status"))
                .hasMessageContaining("KEYS meta values");
        assertThatThrownBy(() -> Script.load(ScriptTest.class, "sample.lua", "meta values", "name", "status"))
                .hasMessageContaining("ARGV name count ids…");
        assertThatThrownBy(() -> Script.load(ScriptTest.class, "sample.lua", "meta values", "name count ids…", "other"))
                .hasMessageContaining("REPLY status");
        assertThatThrownBy(() -> Script.load(ScriptTest.class, "missing.lua", "", "", ""))
                .hasMessageContaining("no script");
    }

    @Test
    void callWithTheWrongNumberOfArgumentsIsRefused() {
        Script script = Script.load(ScriptTest.class, "sample.lua", "meta values", "name count ids…", "status");
        script.check(2, 2);
        script.check(2, 20);
        assertThatThrownBy(() -> script.check(1, 2)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> script.check(2, 1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void includedFileIsPartOfTheScript() {
        Script script = Script.load(ScriptTest.class, "sample.lua", "meta values", "name count ids…", "status");
        assertThat(new String(script.source(), java.nio.charset.StandardCharsets.UTF_8))
                .contains("local included = 'yes'")
                .doesNotContain("--@include");
    }

    private static String[] header(String source, String line) {
        Matcher matcher = Pattern.compile("(?m)^-- " + line + " *(.*)$").matcher(source);
        assertThat(matcher.find()).as("a line " + line).isTrue();
        return matcher.group(1).strip().split("\\s+");
    }

    private static Set<String> scriptFiles() throws IOException {
        Set<String> files = new TreeSet<>();
        try (Stream<Path> all = Files.walk(CLASSES)) {
            for (Path file : all.filter(it -> it.toString().endsWith(".lua")).toList()) {
                if (Files.readString(file).startsWith("#!lua")) {
                    files.add(CLASSES.relativize(file).toString());
                }
            }
        }
        return files;
    }

    /** All classes that declare a script. */
    private static List<Class<?>> scriptOwners() throws IOException, ClassNotFoundException {
        List<Class<?>> owners = new ArrayList<>();
        try (Stream<Path> all = Files.walk(CLASSES)) {
            for (Path file : all.filter(it -> it.toString().endsWith(".class")).toList()) {
                String name = CLASSES.relativize(file).toString().replace('/', '.');
                if (name.endsWith("-info.class")) {
                    continue;
                }
                Class<?> type = Class.forName(
                        name.substring(0, name.length() - ".class".length()), false, ScriptTest.class.getClassLoader());
                if (Arrays.stream(type.getDeclaredFields()).anyMatch(field -> field.getType() == Script.class)) {
                    owners.add(type);
                }
            }
        }
        return owners;
    }
}
