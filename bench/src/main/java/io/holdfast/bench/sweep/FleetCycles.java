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
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

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
        int pieces = run.size(50_000_000, 4_000_000);
        int nodes = run.size(1000, 100);
        int manyNodes = run.size(12_000, 1000);
        int unary = run.size(20_000, 4_000);
        String size = pieces / 1_000_000 + "M pieces, " + nodes + " nodes";
        run.note(size + ", manager and " + WORKERS + " workers: the first cycle of new processes");
        double first = pieces / 1e6 / sum(cycle(manager, pieces, nodes, 1));
        ask(manager, "unary " + unary);
        int times = run.size(3, 2);
        run.note("the same, " + times + " times more");
        double cpuBefore = cpuSeconds(manager, workers);
        double[][] parts = new double[times][];
        for (int i = 0; i < times; i++) {
            parts[i] = cycle(manager, pieces, nodes, 1);
        }
        double perCpu = times * (pieces / 1e6) / (cpuSeconds(manager, workers) - cpuBefore);
        double calls = unary / 1e6 / ask(manager, "unary " + unary)[0];
        run.note("the same with 2 builders");
        double two = pieces / 1e6 / sum(cycle(manager, pieces, nodes, 2));
        double managerHeap = ask(manager, "heap")[0] / MIB;
        double workerHeap = heap(workers);
        run.note(pieces + " pieces on " + manyNodes + " nodes");
        double many = pieces / 1e6 / sum(cycle(manager, pieces, manyNodes, 1));
        double managerHeapMany = ask(manager, "heap")[0] / MIB;
        double one = pieces / 1e6 / median(parts, FleetCycles::sum);

        run.row(Row.reported("fleet: " + size + ", catalogue to signed filters", "M pieces/s", Direction.HIGHER, one)
                .goal(3));
        run.row(Row.reported(
                "fleet: the same in the first cycle of new processes", "M pieces/s", Direction.HIGHER, first));
        for (int i = 0; i < FleetMain.PARTS.size(); i++) {
            int part = i;
            run.row(Row.reported(
                    "fleet: part " + FleetMain.PARTS.get(i),
                    "s",
                    Direction.LOWER,
                    median(parts, seconds -> seconds[part])));
        }
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
        heapRow("the manager", nodes, managerHeap);
        heapRow("the manager", manyNodes, managerHeapMany);
        heapRow("a worker", nodes, workerHeap);
        heapRow("a worker", manyNodes, heap(workers));
    }

    private void heapRow(String of, int nodes, double mebibytes) {
        run.row(Row.reported(
                        "fleet: live heap of " + of + " (-Xmx512m), " + nodes + " nodes",
                        "MiB",
                        Direction.LOWER,
                        mebibytes)
                .goal(HEAP_MOST_MIB));
    }

    private static double heap(List<ChildJvm> workers) {
        return workers.stream()
                .mapToDouble(worker -> ask(worker, "heap")[0] / MIB)
                .max()
                .orElse(0);
    }

    private static double sum(double[] seconds) {
        return Arrays.stream(seconds).sum();
    }

    private static double median(double[][] cycles, ToDoubleFunction<double[]> of) {
        return Contest.median(Arrays.stream(cycles).mapToDouble(of).toArray());
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

    /** The seconds of its parts. */
    private static double[] cycle(ChildJvm manager, int pieces, int nodes, int builders) {
        return ask(manager, "cycle " + pieces + " " + nodes + " " + builders);
    }

    private static double[] ask(ChildJvm child, String question) {
        child.send(question);
        String answer = child.awaitLine(line -> line.startsWith("= ")).substring(2);
        return Arrays.stream(answer.split(" ")).mapToDouble(Double::parseDouble).toArray();
    }
}
