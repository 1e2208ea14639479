package io.holdfast.gates;

import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.FormatterException;
import com.palantir.javaformat.java.JavaFormatterOptions;

/** The one formatting of Java files. */
final class JavaFormat {

    private static final Formatter FORMATTER = Formatter.createFormatter(JavaFormatterOptions.builder()
            .style(JavaFormatterOptions.Style.PALANTIR)
            .build());

    private JavaFormat() {}

    /** The same source as it should be written, imports sorted and without unused ones. */
    static String apply(String source) {
        try {
            return FORMATTER.formatSourceAndFixImports(source);
        } catch (FormatterException e) {
            throw new IllegalArgumentException("not Java: " + e.getMessage(), e);
        }
    }
}
