package io.holdfast.app.serve;

import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.SpareReason;
import io.holdfast.sweep.node.Verdict;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The metrics of cycles that this process ran. */
final class SweepMeters {

    private final Counter cycles;
    private final Counter failures;
    private final Counter examined;
    private final Counter trashed;
    private final Counter trashedBytes;
    private final Counter spared;
    private final Counter emptied;
    private final AtomicLong lastCycle = new AtomicLong();
    private final AtomicLong waiting = new AtomicLong();
    private final AtomicLong tookMillis = new AtomicLong();

    SweepMeters(MeterRegistry registry) {
        cycles = counter(registry, "cycles", "cycles that ended");
        failures = counter(registry, "failures", "cycles that were aborted; nothing was trashed by them");
        examined = counter(registry, "examined", "pieces that nodes looked at");
        trashed = counter(registry, "trashed", "pieces moved to the trash");
        trashedBytes = counter(registry, "trashed.bytes", "bytes moved to the trash");
        spared = counter(registry, "spared", "pieces that no catalogue knew and that were kept all the same");
        emptied = counter(registry, "emptied", "pieces deleted for good");
        gauge(registry, "cycle", "the number of the last cycle", lastCycle);
        gauge(registry, "waiting", "nodes whose last cycle waits for an operator", waiting);
        gauge(registry, "took.ms", "how long the last cycle took", tookMillis);
    }

    private static Counter counter(MeterRegistry registry, String what, String description) {
        return Counter.builder("holdfast.sweep." + what)
                .description(description)
                .register(registry);
    }

    private static void gauge(MeterRegistry registry, String what, String description, AtomicLong value) {
        Gauge.builder("holdfast.sweep." + what, value, AtomicLong::get)
                .description(description)
                .register(registry);
    }

    void ran(SweepReport report, long deleted) {
        cycles.increment();
        examined.increment((double) report.examined());
        trashed.increment((double) report.trashed());
        emptied.increment((double) deleted);
        for (NodeReport node : report.nodes()) {
            trashedBytes.increment((double) node.trashedBytes());
            node.spared().forEach((reason, count) -> spared.increment(reason == SpareReason.LIVE ? 0 : (double) count));
        }
        lastCycle.set(report.cycle());
        waiting.set(report.nodes().stream()
                .filter(node -> node.verdict() != Verdict.READY)
                .count());
        tookMillis.set(
                report.took().values().stream().mapToLong(Duration::toMillis).sum());
    }

    /** A cycle of a fleet. Nodes do not tell why they spared what they spared, nor how large it was, but for what is young. */
    void ran(CycleReport report, long deleted) {
        cycles.increment();
        examined.increment((double) report.examined());
        trashed.increment((double) report.trashed());
        emptied.increment((double) deleted);
        for (CycleReport.OfNode node : report.nodes()) {
            node.progress().ifPresent(progress -> {
                trashedBytes.increment((double) progress.trashedBytes());
                spared.increment((double) progress.young());
            });
        }
        lastCycle.set(report.cycle());
        waiting.set(report.in("waiting").size());
        tookMillis.set(
                report.took().values().stream().mapToLong(Duration::toMillis).sum());
    }

    void failed() {
        failures.increment();
    }
}
