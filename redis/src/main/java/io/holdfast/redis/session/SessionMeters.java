package io.holdfast.redis.session;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/**
 * The metrics of sessions, for applications that use Micrometer: {@code new SessionMeters(rooms).bindTo(registry)}.
 * docs/operating.md says which of them to watch.
 */
public final class SessionMeters implements MeterBinder {

    private final Sessions sessions;

    public SessionMeters(Sessions sessions) {
        this.sessions = sessions;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        counter(registry, "acquired", "sessions that this instance began to serve", SessionFigures::acquired);
        counter(registry, "released", "sessions that it stopped serving on purpose", SessionFigures::released);
        counter(registry, "orphans", "sessions without holder that it claimed", SessionFigures::orphans);
        counter(registry, "lapsed.leases", "leases that it found lapsed", SessionFigures::lapsedLeases);
        counter(registry, "lapsed.holds", "holds released because their lease had lapsed", SessionFigures::lapsedHolds);
        counter(registry, "negatives", "records that contradict themselves; always 0", SessionFigures::negatives);
        counter(registry, "closed", "sessions that it closed", SessionFigures::closed);
        counter(registry, "failed", "attempts to close that failed", SessionFigures::failed);
        counter(registry, "dead.letters", "closes that failed too often", SessionFigures::deadLetters);
        counter(registry, "stale.commits", "closes that another instance did first", SessionFigures::staleCommits);
        counter(registry, "lost", "sessions it could not be sure of", SessionFigures::lost);
        counter(registry, "regained", "sessions it was sure of again", SessionFigures::regained);
        for (int holders = 1; holders <= 9; holders++) {
            int count = holders;
            FunctionCounter.builder(
                            "holdfast.sessions.holders",
                            sessions,
                            all -> all.figures().acquiresWithHolders(count))
                    .tags(tags().and("holders", holders == 9 ? "9+" : Integer.toString(holders)))
                    .description("acquires by the number of holders that the session then had")
                    .register(registry);
        }
        Gauge.builder(
                        "holdfast.sessions.orphans.cycle",
                        sessions,
                        all -> all.figures().orphansInLastCycle())
                .tags(tags())
                .description("sessions without holder that the last round of claims found")
                .register(registry);
        Gauge.builder("holdfast.sessions.serving", sessions, Sessions::serving)
                .tags(tags())
                .description("sessions that this instance serves")
                .register(registry);
        Gauge.builder("holdfast.sessions.closing", sessions, Sessions::closing)
                .tags(tags())
                .description("close handlers that run")
                .register(registry);
    }

    private void counter(
            MeterRegistry registry, String name, String description, ToDoubleFunction<SessionFigures> figure) {
        FunctionCounter.builder("holdfast.sessions." + name, sessions, all -> figure.applyAsDouble(all.figures()))
                .tags(tags())
                .description(description)
                .register(registry);
    }

    private Tags tags() {
        return Tags.of("set", sessions.name());
    }
}
