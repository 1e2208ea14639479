package io.holdfast.app.cli;

import io.holdfast.redis.graph.GraphProgress;
import org.jspecify.annotations.Nullable;

/** A bar for each phase of a long look at something. */
public final class PhaseBars implements GraphProgress, AutoCloseable {

    private final Console console;
    private @Nullable Progress bar;
    private String phase = "";
    private long shown;

    public PhaseBars(Console console) {
        this.console = console;
    }

    @Override
    public void at(String newPhase, long done, long total) {
        if (bar == null || !phase.equals(newPhase)) {
            close();
            phase = newPhase;
            shown = 0;
            bar = console.progress(newPhase, total);
        }
        bar.total(total);
        bar.step(done - shown);
        shown = done;
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
