package io.holdfast.bench.sweep;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.testkit.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * From the catalogue to signed filters: a manager and two workers, a process each with 512 MB of heap, over loopback. The
 * original's call, one piece each, is measured beside it with the same processes.
 */
final class FleetCycles {

    private static final int WORKERS = 2;
    private static final double HEAP_MOST_MIB = 512;
    private static final double MIB = 1 << 20;

    private final Run run;

    FleetCycles(Run run) {
        this.run = run;
    }

    void measure() throws Exception {
        Path folder = Files.createTempDirectory("holdfast-fleet-");
        List<ChildJvm> workers = new ArrayList<>();
        try {
            SigningKey key = SigningKey.generate("bench");
            key.write(folder.resolve("key"));
            KeyRing.at(folder.resolve("keys"))
                    .add(KeyRing.entry(
                            key, KeyRing.Role.MANAGER, Instant.EPOCH, Instant.parse("2100-01-01T00:00:00Z")));
            List<String> addresses = new ArrayList<>();
            for (int i = 0; i < WORKERS; i++) {
                ChildJvm worker = child("worker", folder.resolve("keys")).launch();
                workers.add(worker);
                addresses.add(worker.awaitLine(line -> line.startsWith("at ")).substring(3));
            }
            try (ChildJvm manager = child("manager", folder.resolve("key"), folder, String.join(",", addresses))
                    .start()) {
                measure(manager, workers);
            }
        } finally {
            workers.forEach(ChildJvm::close);
            ScratchFolder.remove(folder);
        }
    }

    private static ChildJvm.Setup child(Object... arguments) {
        return ChildJvm.of(FleetMain.class)
                .arguments(arguments)
                .options("-Xmx512m", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseParallelGC");
    }

    private void measure(ChildJvm manager, List<ChildJvm> workers) {
        int pieces = run.size(50_000_000, 2_000_000);
        int nodes = run.size(1000, 100);
        int manyNodes = run.size(12_000, 1000);
        int unary = run.size(20_000, 4_000);
        run.note("a fleet warms up");
        ask(manager, "cycle " + run.size(10_000_000, 1_000_000) + " 100 1");
        ask(manager, "unary " + unary);
        run.note(pieces + " pieces on " + nodes + " nodes, manager and " + WORKERS + " workers");
        double cpuBefore = cpuSeconds(manager, workers);
        int times = run.size(3, 2);
        double one = rate(manager, pieces, nodes, 1, times);
        double perCpu = times * (pieces / 1e6) / (cpuSeconds(manager, workers) - cpuBefore);
        double calls = unary / 1e6 / ask(manager, "unary " + unary);
        double two = rate(manager, pieces, nodes, 2, 1);
        double managerHeap = ask(manager, "heap") / MIB;
        double workerHeap = workers.stream()
                .mapToDouble(worker -> ask(worker, "heap") / MIB)
                .max()
                .orElse(0);
        run.note(pieces + " pieces on " + manyNodes + " nodes");
        double many = rate(manager, pieces, manyNodes, 1, 1);
        double managerHeapMany = ask(manager, "heap") / MIB;

        run.row(Row.reported("fleet: catalogue to signed filters, 1 builder", "M pieces/s", Direction.HIGHER, one)
                .goal(3));
        run.row(Row.compared(
                "fleet: batched stream beside one call a piece",
                "M pieces/s",
                Direction.HIGHER,
                one,
                calls,
                "unary call"));
        run.row(Row.reported(
                "fleet: the same by the CPU time of all three processes", "M pieces/CPU-s", Direction.HIGHER, perCpu));
        run.row(Row.reported("fleet: the same with 2 builders", "M pieces/s", Direction.HIGHER, two));
        run.row(Row.reported("fleet: the same over " + manyNodes + " nodes", "M pieces/s", Direction.HIGHER, many));
        run.row(Row.reported(
                        "fleet: live heap of the manager (-Xmx512m), " + nodes + " nodes",
                        "MiB",
                        Direction.LOWER,
                        managerHeap)
                .goal(HEAP_MOST_MIB));
        run.row(Row.reported(
                        "fleet: live heap of the manager (-Xmx512m), " + manyNodes + " nodes",
                        "MiB",
                        Direction.LOWER,
                        managerHeapMany)
                .goal(HEAP_MOST_MIB));
        run.row(Row.reported(
                        "fleet: live heap of a worker (-Xmx512m), " + nodes + " nodes",
                        "MiB",
                        Direction.LOWER,
                        workerHeap)
                .goal(HEAP_MOST_MIB));
    }

    private static double cpuSeconds(ChildJvm manager, List<ChildJvm> workers) {
        double sum = cpuSeconds(manager);
        for (ChildJvm worker : workers) {
            sum += cpuSeconds(worker);
        }
        return sum;
    }

    private static double cpuSeconds(ChildJvm child) {
        return ProcessHandle.of(child.pid())
                        .flatMap(process -> process.info().totalCpuDuration())
                        .orElse(Duration.ZERO)
                        .toNanos()
                / 1e9;
    }

    private static double rate(ChildJvm manager, int pieces, int nodes, int builders, int times) {
        double[] rates = new double[times];
        for (int i = 0; i < times; i++) {
            rates[i] = pieces / 1e6 / ask(manager, "cycle " + pieces + " " + nodes + " " + builders);
        }
        return Contest.median(rates);
    }

    private static double ask(ChildJvm child, String question) {
        child.send(question);
        return Double.parseDouble(child.awaitLine(line -> line.startsWith("= ")).substring(2));
    }
}
