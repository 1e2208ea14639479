package io.holdfast.testkit;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Keeps what a logger and those below it log, until it is closed. */
public final class LogLines implements AutoCloseable {

    private final Logger logger;
    private final Handler handler;
    private final List<String> lines = new CopyOnWriteArrayList<>();

    private LogLines(String name) {
        logger = Logger.getLogger(name);
        handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.addHandler(handler);
    }

    /** @param name of a class or a package */
    public static LogLines of(String name) {
        return new LogLines(name);
    }

    public static LogLines of(Class<?> type) {
        return new LogLines(type.getName());
    }

    /** Everything logged so far. */
    public List<String> all() {
        return List.copyOf(lines);
    }

    @Override
    public void close() {
        logger.removeHandler(handler);
    }
}
