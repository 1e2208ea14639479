package io.holdfast.app.sweep;

import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.sweep.SweepProgress;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One bar a phase: rows while the catalogue is scanned, folders of all nodes while they are walked. */
final class CycleBars implements SweepProgress, AutoCloseable {

    private final Console console;
    private final int nodes;
    private final Map<String, Long> done = new HashMap<>();
    private @Nullable Phase phase;
    private @Nullable Progress bar;

    CycleBars(Console console, int nodes) {
        this.console = console;
        this.nodes = nodes;
    }

    @Override
    public synchronized void progress(Phase now, String what, long soFar, long total) {
        if (now != phase) {
            end();
            phase = now;
            boolean walk = now == Phase.EXAMINE || now == Phase.TRASH;
            bar = console.progress(now.name().toLowerCase(Locale.ROOT), walk ? total * nodes : total);
            done.clear();
        }
        long before = done.getOrDefault(what, 0L);
        if (soFar > before && bar != null) {
            bar.step(soFar - before);
            done.put(what, soFar);
        }
    }

    @Override
    public void close() {
        end();
    }

    /** The bar that is shown, if any, is done. */
    synchronized void end() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
