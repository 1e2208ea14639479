package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.rpc.ManagerService;
import io.holdfast.sweep.rpc.Registrations;
import io.holdfast.sweep.rpc.RpcServer;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Runs cycles of a fleet from the command line: once, or again and again. */
final class FleetRun {

    private static final Duration LOOK_EVERY = Duration.ofMillis(250);

    private final FleetOption fleet;
    private final Catalogue catalogue;
    private final Console console;
    private final String log;

    FleetRun(FleetOption fleet, Catalogue catalogue, Console console, String log) {
        this.fleet = fleet;
        this.catalogue = catalogue;
        this.console = console;
        this.log = log;
    }

    /**
     * @param listen where workers register and people look; null for no port
     * @param every how long between the beginnings of two cycles; null to run one and end
     */
    Answer run(@Nullable String listen, @Nullable Duration every, boolean empty) throws Exception {
        Registrations registrations = new Registrations(Time.system());
        List<String> listed = fleet.read().workers();
        String host = InetAddress.getLocalHost().getHostName() + "/"
                + ProcessHandle.current().pid();
        SweepManager manager = SweepManager.of(catalogue, fleet.key(), fleet.log(log), host)
                .nodes(fleet.nodes())
                .workers(() -> workers(listed, registrations))
                .settings(Settings.ofProcess());
        if (listen == null) {
            return once(manager, empty);
        }
        Set<RpcServer.Role> callers = Set.of(RpcServer.Role.WORKER, RpcServer.Role.OPERATOR, RpcServer.Role.MANAGER);
        try (RpcServer server = RpcServer.start(
                listen,
                new ManagerService(registrations, manager::status),
                fleet.tls().files(),
                callers)) {
            console.note("manager at " + server.address());
            awaitWorkers(listed, registrations);
            while (true) {
                long began = System.nanoTime();
                Answer answer = repeated(manager, empty, every != null);
                if (every == null) {
                    return answer;
                }
                Duration left = every.minusNanos(System.nanoTime() - began);
                Thread.sleep(left.isNegative() ? Duration.ZERO : left);
            }
        }
    }

    private void awaitWorkers(List<String> listed, Registrations registrations) throws InterruptedException {
        if (listed.isEmpty()) {
            console.note("waiting for workers to register");
            while (registrations.addresses().isEmpty()) {
                Thread.sleep(LOOK_EVERY);
            }
        }
    }

    private List<WorkerPort> workers(List<String> listed, Registrations registrations) {
        Set<String> all = new TreeSet<>(listed);
        all.addAll(registrations.addresses());
        List<WorkerPort> ports = new ArrayList<>();
        all.forEach(address -> ports.add(fleet.peers().worker(address)));
        return ports;
    }

    /** A manager that stays says what went wrong, and goes on with the next cycle. */
    private Answer repeated(SweepManager manager, boolean empty, boolean stays) throws Exception {
        try {
            Answer answer = once(manager, empty);
            if (stays) {
                console.say("cycle " + manager.status().cycle() + " is over");
            }
            return answer;
        } catch (HoldfastException e) {
            if (!stays) {
                throw e;
            }
            console.note("" + e.getMessage());
            return Answer.finding();
        }
    }

    private Answer once(SweepManager manager, boolean empty) throws Exception {
        CycleReport report;
        try (ExecutorService runner = Executors.newSingleThreadExecutor();
                Watch watch = new Watch(console)) {
            Future<CycleReport> running = runner.submit(manager::run);
            while (!running.isDone()) {
                Thread.sleep(LOOK_EVERY);
                watch.show(manager.status());
            }
            try {
                report = running.get();
            } catch (java.util.concurrent.ExecutionException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            }
        }
        Answer answer = answer(report);
        if (empty) {
            long removed = manager.empty();
            answer.line(removed + " pieces were deleted for good").field("emptied", removed);
        }
        return answer;
    }

    /** A bar for the phase that is under way. */
    private static final class Watch implements AutoCloseable {
        private final Console console;
        private String phase = "";
        private @Nullable Progress bar;
        private long shown;

        Watch(Console console) {
            this.console = console;
        }

        void show(FleetStatus status) {
            boolean scan = status.phase().startsWith("scan");
            long total = scan ? status.rowsExpected() : status.nodes().size();
            long done = scan
                    ? status.rows()
                    : status.nodes().stream()
                            .filter(node -> !node.state().equals("examining")
                                    && !node.state().equals("released"))
                            .count();
            if (!phase.equals(status.phase())) {
                close();
                phase = status.phase();
                shown = 0;
                bar = console.progress(phase, total);
            }
            if (bar != null && done > shown) {
                bar.step(done - shown);
                shown = done;
            }
        }

        @Override
        public void close() {
            if (bar != null) {
                bar.close();
                bar = null;
            }
        }
    }

    private static Answer answer(CycleReport report) {
        boolean finding = !report.in("failed").isEmpty() || report.note().startsWith("nothing was trashed");
        Answer answer = finding ? Answer.finding() : Answer.ok();
        answer.line("cycle " + report.cycle() + " of " + report.owner() + ": " + report.rows()
                + " live pieces in the catalogue, " + report.examined() + " examined, " + report.wouldTrash()
                + " would be trashed, " + report.trashed() + " trashed");
        answer.field("owner", report.owner().name())
                .field("cycle", report.cycle())
                .field("cutoff", report.cutoff())
                .field("rows", report.rows())
                .field("attempts", report.attempts())
                .field("examined", report.examined())
                .field("wouldTrash", report.wouldTrash())
                .field("trashed", report.trashed());
        Table table = Table.of(
                "node", "state", "attempt", "pieces", "verdict", "examined", "wouldTrash", "trashed", "detail");
        for (CycleReport.OfNode node : report.nodes()) {
            Optional<NodeProgress> progress = node.progress();
            table.row(
                    node.node().name(),
                    node.state(),
                    node.attempt(),
                    node.pieces(),
                    progress.map(p -> p.verdict().toLowerCase(Locale.ROOT).replace('_', '-'))
                            .orElse(""),
                    progress.map(NodeProgress::examined).orElse(0L),
                    progress.map(NodeProgress::wouldTrash).orElse(0L),
                    progress.map(NodeProgress::trashed).orElse(0L),
                    node.detail());
        }
        answer.table("nodes", table);
        if (!report.note().isEmpty()) {
            answer.line(report.note());
        }
        return answer.field("note", report.note());
    }
}
