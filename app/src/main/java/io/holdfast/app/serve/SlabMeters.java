package io.holdfast.app.serve;

import io.holdfast.slab.SlabCache;
import io.holdfast.slab.SlabStats;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** The metrics of a slab cache, of all processes that use it. */
public final class SlabMeters implements MeterBinder {

    private final String name;
    private final SlabCache cache;

    public SlabMeters(String name, SlabCache cache) {
        this.name = name;
        this.cache = cache;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        gauge(registry, "values", "values in the cache", SlabStats::items);
        gauge(registry, "bytes", "bytes of headers, keys and values", SlabStats::itemBytes);
        gauge(registry, "free.pages", "pages that no slot has", SlabStats::freePages);
        gauge(
                registry,
                "processes",
                "processes that have it open",
                stats -> stats.processes().stream()
                        .filter(SlabStats.AttachedProcess::alive)
                        .count());
        counter(registry, "hits", "reads that found their value", SlabStats::hits);
        counter(registry, "misses", "reads that did not", SlabStats::misses);
        counter(registry, "stored", "values stored", SlabStats::stored);
        counter(registry, "evicted", "values that made room", SlabStats::evicted);
        counter(registry, "thefts", "locks taken from processes that died", SlabStats::thefts);
        counter(registry, "repairs", "mutations of dead processes that were undone", SlabStats::repairs);
        counter(registry, "salvages", "times that the tables had to be rebuilt", SlabStats::salvages);
        counter(registry, "dropped", "values that a salvage could not keep", SlabStats::dropped);
    }

    private void gauge(MeterRegistry registry, String what, String description, ToDoubleFunction<SlabStats> figure) {
        Gauge.builder("holdfast.slab." + what, cache, it -> figure.applyAsDouble(it.stats()))
                .tag("cache", name)
                .description(description)
                .register(registry);
    }

    private void counter(MeterRegistry registry, String what, String description, ToDoubleFunction<SlabStats> figure) {
        FunctionCounter.builder("holdfast.slab." + what, cache, it -> figure.applyAsDouble(it.stats()))
                .tag("cache", name)
                .description(description)
                .register(registry);
    }
}
