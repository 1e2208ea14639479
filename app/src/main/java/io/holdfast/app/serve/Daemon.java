package io.holdfast.app.serve;

import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Runs the duties of named things until it is closed. Each is a {@link Part} with a life of its own: what cannot be reached
 * is tried again, and the rest goes on. Any number of daemons may tend the same things: scripts and leases share the work.
 */
final class Daemon implements AutoCloseable {

    /** A cycle may keep one of them for hours. */
    private static final int THREADS = 3;

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final DutyRunner duties;
    private final List<Part> parts = new ArrayList<>();
    private final HealthServer health;

    private Daemon(Settings settings) {
        DaemonMeters meters = new DaemonMeters(registry);
        this.duties = DutyRunner.start(THREADS, meters);
        makeParts(settings, meters);
        meters.parts(parts);
        this.health = HealthServer.open(settings.get(ServeSettings.LISTEN), parts, registry);
        parts.forEach(duties::add);
    }

    static Daemon start(Settings settings) {
        return new Daemon(settings);
    }

    private void makeParts(Settings settings, DaemonMeters meters) {
        RedisPart redis = new RedisPart(settings, meters);
        parts.add(redis);
        ServeSettings.list(settings, ServeSettings.GRAPHS)
                .forEach(graph -> parts.add(new GraphPart(graph, redis, meters)));
        Map<String, String> owning = new HashMap<>();
        for (String pair : ServeSettings.list(settings, ServeSettings.SESSION_SNAPSHOTS)) {
            String[] words = pair.split(":", 2);
            owning.put(words[0], words[1]);
        }
        Set<String> sets = new LinkedHashSet<>(ServeSettings.list(settings, ServeSettings.SESSIONS));
        sets.addAll(owning.keySet());
        sets.forEach(set -> parts.add(new SessionsPart(set, Optional.ofNullable(owning.get(set)), redis, meters)));
        ServeSettings.list(settings, ServeSettings.AGGREGATES)
                .forEach(set -> parts.add(new AggregatesPart(set, redis, meters)));
        ServeSettings.list(settings, ServeSettings.CACHES)
                .forEach(file -> parts.add(new CachePart(Path.of(file), duties, meters)));
        if (!settings.get(ServeSettings.CATALOGUE).isEmpty()) {
            SweepMeters cycles = new SweepMeters(registry);
            boolean fleet = !settings.get(ServeSettings.FLEET).isEmpty();
            parts.add(fleet ? new FleetPart(settings, redis, cycles) : new SweepPart(settings, redis, cycles));
        }
        if (parts.size() == 1) {
            throw HoldfastException.misuse(
                    "nothing to serve",
                    "set serve.graphs, serve.sessions, serve.session-snapshots, serve.aggregates, serve.caches or"
                            + " serve.sweep.catalogue");
        }
    }

    List<Part> parts() {
        return List.copyOf(parts);
    }

    boolean isReady() {
        return parts.stream().allMatch(part -> part.failure().isEmpty());
    }

    int port() {
        return health.port();
    }

    MeterRegistry registry() {
        return registry;
    }

    /** Stops asking and answering, then gives up what it holds; the rest is the next daemon's. */
    @Override
    public void close() {
        health.close();
        duties.close();
        for (Part part : parts.reversed()) {
            part.close();
        }
        registry.close();
    }
}
