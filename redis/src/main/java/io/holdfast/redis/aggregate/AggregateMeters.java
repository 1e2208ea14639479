package io.holdfast.redis.aggregate;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/**
 * The metrics of aggregates, for applications that use Micrometer: {@code new AggregateMeters(visits).bindTo(registry)}.
 * docs/operating.md says which of them to watch.
 */
public final class AggregateMeters implements MeterBinder {

    private final Aggregates<?> aggregates;

    public AggregateMeters(Aggregates<?> aggregates) {
        this.aggregates = aggregates;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        counter(registry, "updates", "updates that were added here", AggregateFigures::updates);
        counter(registry, "duplicates", "updates that had been counted before", AggregateFigures::duplicates);
        counter(registry, "refused", "updates that could not be published", AggregateFigures::refused);
        counter(registry, "published", "parts that were published", AggregateFigures::published);
        counter(registry, "published.bytes", "bytes of these parts", AggregateFigures::publishedBytes);
        counter(registry, "unanswered", "publishes of a part without an answer", AggregateFigures::unanswered);
        counter(registry, "carried", "updates that went into the next epoch", AggregateFigures::carried);
        counter(registry, "full", "publishes refused since too much waits", AggregateFigures::full);
        counter(registry, "left", "keys that this instance has left", AggregateFigures::left);
        counter(registry, "lapsed.leases", "leases that it found lapsed", AggregateFigures::lapsedLeases);
        counter(registry, "frozen", "epochs it ended after their hard window", AggregateFigures::frozen);
        counter(registry, "negatives", "records that contradict themselves; always 0", AggregateFigures::negatives);
        counter(registry, "flushed", "epochs that it wrote to the sink", AggregateFigures::flushed);
        counter(registry, "failed", "flushes of an epoch that failed", AggregateFigures::failed);
        counter(registry, "dead.letters", "epochs that could not be flushed", AggregateFigures::deadLetters);
        counter(registry, "stale.commits", "epochs that another instance flushed", AggregateFigures::staleCommits);
        gauge(registry, "keys", "keys that this instance has at hand", Aggregates::keys);
        gauge(registry, "pending", "updates that are not durable yet", Aggregates::pending);
        gauge(registry, "flushing", "batches on their way to the sink", Aggregates::flushing);
        gauge(
                registry,
                "waiting.bytes",
                "bytes of parts in Redis, of all instances",
                all -> all.figures().waitingBytes());
    }

    private void counter(
            MeterRegistry registry, String name, String description, ToDoubleFunction<AggregateFigures> figure) {
        FunctionCounter.builder("holdfast.aggregates." + name, aggregates, all -> figure.applyAsDouble(all.figures()))
                .tags(tags())
                .description(description)
                .register(registry);
    }

    private void gauge(
            MeterRegistry registry, String name, String description, ToDoubleFunction<Aggregates<?>> figure) {
        Gauge.builder("holdfast.aggregates." + name, aggregates, figure::applyAsDouble)
                .tags(tags())
                .description(description)
                .register(registry);
    }

    private Tags tags() {
        return Tags.of("set", aggregates.name());
    }
}
