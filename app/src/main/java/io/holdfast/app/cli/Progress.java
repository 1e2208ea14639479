package io.holdfast.app.cli;

import java.io.PrintWriter;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarConsumer;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/** How far a long command is: a bar on a terminal, nothing at all elsewhere. */
public final class Progress implements AutoCloseable {

    private static final int UPDATE_MILLIS = 100;

    private final @Nullable ProgressBar bar;

    private Progress(@Nullable ProgressBar bar) {
        this.bar = bar;
    }

    static Progress none() {
        return new Progress(null);
    }

    static Progress bar(String label, long total, PrintWriter to, int width) {
        return new Progress(new ProgressBarBuilder()
                .setTaskName(label)
                .setInitialMax(total)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(UPDATE_MILLIS)
                .setConsumer(new LineConsumer(to, width))
                .build());
    }

    public void step(long count) {
        if (bar != null) {
            bar.stepBy(count);
        }
    }

    /** For totals that become known on the way. */
    public void total(long total) {
        if (bar != null) {
            bar.maxHint(total);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }

    /** Rewrites one line. The library's own consumer asks the terminal by native code, which this avoids. */
    private record LineConsumer(PrintWriter to, int width) implements ProgressBarConsumer {

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
