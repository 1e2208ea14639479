package io.holdfast.app.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/**
 * What becomes of logs in the executable: errors only, one line each, on standard error; everything with {@code
 * --verbose}. The JDK's logging creates this class when the first line is logged, so commands that log nothing do not
 * pay for it.
 */
public final class LogOutput {

    private static final String VERBOSE_PROPERTY = "io.holdfast.verbose";

    /** Called by the JDK's logging. */
    public LogOutput() throws IOException {
        String level = Boolean.getBoolean(VERBOSE_PROPERTY) ? "FINE" : "SEVERE";
        String configuration = """
            handlers=java.util.logging.ConsoleHandler
            .level=INFO
            io.holdfast.level=%1$s
            java.util.logging.ConsoleHandler.level=%1$s
            java.util.logging.ConsoleHandler.formatter=java.util.logging.SimpleFormatter
            java.util.logging.SimpleFormatter.format=%%1$tT.%%1$tL %%4$s %%3$s: %%5$s%%6$s%%n
            """.formatted(level);
        LogManager.getLogManager()
                .readConfiguration(new ByteArrayInputStream(configuration.getBytes(StandardCharsets.UTF_8)));
    }

    static void use(boolean verbose) {
        if (System.getProperty("java.util.logging.config.class") == null
                && System.getProperty("java.util.logging.config.file") == null) {
            System.setProperty(VERBOSE_PROPERTY, String.valueOf(verbose));
            System.setProperty("java.util.logging.config.class", LogOutput.class.getName());
        }
    }
}
