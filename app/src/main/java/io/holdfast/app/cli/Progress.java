package io.holdfast.app.cli;

import java.io.PrintWriter;
import java.time.Duration;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarConsumer;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * How far a long command is: a bar on a terminal, nothing at all elsewhere. It appears when the work has taken a while,
 * so that what is done at once leaves no trace.
 */
public final class Progress implements AutoCloseable {

    private static final int UPDATE_MILLIS = 100;

    private final @Nullable Screen screen;
    private final String label;
    private final long begin = System.nanoTime();
    private long total;
    private long done;
    private @Nullable ProgressBar bar;

    /** A terminal, and how long it stays quiet. */
    record Screen(PrintWriter to, int width, Duration quiet) {}

    /** {@code null}: nobody is looking. */
    Progress(@Nullable Screen screen, String label, long total) {
        this.screen = screen;
        this.label = label;
        this.total = total;
    }

    public synchronized void step(long count) {
        done += count;
        if (bar != null) {
            bar.stepTo(done);
        } else if (screen != null && System.nanoTime() - begin >= screen.quiet().toNanos()) {
            bar = open(screen).stepTo(done);
        }
    }

    /** For totals that become known on the way. */
    public synchronized void total(long newTotal) {
        total = newTotal;
        if (bar != null) {
            bar.maxHint(newTotal);
        }
    }

    @Override
    public synchronized void close() {
        if (bar != null) {
            bar.close();
        }
    }

    private ProgressBar open(Screen terminal) {
        return new ProgressBarBuilder()
                .setTaskName(label)
                .setInitialMax(total)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(UPDATE_MILLIS)
                .setConsumer(new OneLine(terminal.to(), terminal.width()))
                .build();
    }

    /** Rewrites one line. The library's own consumer asks the terminal by native code, which this avoids. */
    private record OneLine(PrintWriter to, int width) implements ProgressBarConsumer {

        @Override
        public int getMaxRenderedLength() {
            return width - 1;
        }

        @Override
        public void accept(String rendered) {
            to.print('\r' + rendered);
            to.flush();
        }

        @Override
        public void close() {
            to.println();
            to.flush();
        }
    }
}
