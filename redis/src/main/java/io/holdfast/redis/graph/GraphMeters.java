package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of a graph, for applications that use Micrometer: {@code new GraphMeters(docs).bindTo(registry)}. However many
 * are read, the server is asked once in {@link #FRESH}. docs/operating.md says which of them to watch.
 */
public final class GraphMeters implements MeterBinder {

    private static final Duration FRESH = Duration.ofSeconds(2);

    private final ValueGraph graph;
    private @Nullable GraphStatistics last;
    private long lastNanos;

    public GraphMeters(ValueGraph graph) {
        this.graph = graph;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        gauge(registry, "values", "values that are there, held or doomed", GraphStatistics::values);
        gauge(registry, "edges", "holds of values on values", GraphStatistics::edges);
        gauge(registry, "roots", "roots", GraphStatistics::roots);
        gauge(registry, "leases", "leases that are out", GraphStatistics::leases);
        gauge(registry, "doomed", "elements of the list of work that reclaiming has to do", GraphStatistics::doomed);
        gauge(registry, "ledger", "records in the ledger", GraphStatistics::ledgerRecords);
        gauge(registry, "miscounts", "releases that were refused; always 0", GraphStatistics::miscounts);
        gauge(registry, "memory", "bytes on the server, as it estimates", GraphStatistics::memoryBytes);
    }

    private void gauge(
            MeterRegistry registry, String what, String description, ToDoubleFunction<GraphStatistics> figure) {
        Gauge.builder("holdfast.graph." + what, this, it -> it.figure(figure))
                .tag("graph", graph.name())
                .description(description)
                .register(registry);
    }

    /** Not a number while the server does not answer: a gauge must not make a scrape fail. */
    private synchronized double figure(ToDoubleFunction<GraphStatistics> figure) {
        long now = System.nanoTime();
        if (last == null || now - lastNanos > FRESH.toNanos()) {
            try {
                last = graph.inspect().statistics();
            } catch (HoldfastException e) {
                last = null;
            }
            lastNanos = now;
        }
        return last == null ? Double.NaN : figure.applyAsDouble(last);
    }
}
