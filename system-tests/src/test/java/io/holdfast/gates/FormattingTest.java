package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Formatting, checked in the test JVM since Maven's own may be too old to parse the language. {@code -Dformat=write}
 * rewrites what is not formatted instead of failing.
 */
class FormattingTest {

    @Test
    void everyJavaFileIsFormatted() {
        SourceTree tree = SourceTree.ofBuild();
        boolean write = "write".equals(System.getProperty("format"));
        List<String> unformatted = tree.files(".java").parallelStream()
                .filter(file -> !isFormatted(file, write))
                .map(tree::name)
                .toList();
        assertThat(unformatted)
                .as("not formatted; run: mvn -q -pl system-tests -am verify -Dtest=FormattingTest -Dformat=write"
                        + " -Dsurefire.failIfNoSpecifiedTests=false -DskipITs")
                .isEmpty();
    }

    private static boolean isFormatted(Path file, boolean write) {
        String source = SourceTree.text(file);
        String formatted = JavaFormat.apply(source);
        if (source.equals(formatted)) {
            return true;
        }
        if (write) {
            try {
                Files.writeString(file, formatted);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return write;
    }

    @Test
    void aFileThatIsNotFormattedIsFound() {
        String tidy = """
            package a;

            class A {
                int b = 1;
            }
            """;
        assertThat(JavaFormat.apply("package a;\nimport java.util.List;\nclass A { int b=1; }\n"))
                .isEqualTo(tidy);
        assertThat(JavaFormat.apply(tidy)).isEqualTo(tidy);
    }

    @Test
    void theFormatterKnowsTheNewestLanguageInUse() {
        String source = """
            class A {
                int b(Object o) {
                    return switch (o) {
                        case Integer i when i > 1 -> i;
                        case String _ -> 2;
                        default -> 3;
                    };
                }
            }
            """;
        assertThat(JavaFormat.apply(source)).isEqualTo(source);
    }
}
