package io.holdfast.app.serve;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.Reclaimed;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Locale;

/** What the daemon counts about itself. */
final class DaemonMeters implements DutyRunner.FailureListener {

    private final MeterRegistry registry;

    DaemonMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    void bind(MeterBinder binder) {
        binder.bindTo(registry);
    }

    void parts(List<Part> parts) {
        for (Part part : parts) {
            Gauge.builder("holdfast.part.up", part, it -> it.failure().isEmpty() ? 1 : 0)
                    .tag("part", part.name())
                    .description("1: the part works; 0: it does not, and /healthz says why")
                    .register(registry);
        }
    }

    /** Called for what this process reclaims. */
    void reclaimed(Reclaimed record) {
        Counter.builder("holdfast.reclaimed")
                .tag("kind", record.kind().word())
                .tag("space", record.space())
                .tag("reason", record.reason().name().toLowerCase(Locale.ROOT))
                .description("things that this process has reclaimed")
                .register(registry)
                .increment(record.ids().size());
    }

    @Override
    public void onFailure(Duty duty, Throwable failure, int inARow) {
        Counter.builder("holdfast.duty.failures")
                .tag("duty", duty.name())
                .description("steps of background work that failed; each is tried again")
                .register(registry)
                .increment();
    }
}
