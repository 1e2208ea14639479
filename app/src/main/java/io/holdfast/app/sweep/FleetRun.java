package io.holdfast.app.sweep;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.manager.CycleDuty;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.Verdict;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Runs cycles of a fleet from the command line: once, or again and again. */
final class FleetRun {

    private static final int NODES_IN_A_LINE = 20;
    private static final Duration LOOK_EVERY = Duration.ofMillis(250);

    private final FleetOption fleet;
    private final Catalogue catalogue;
    private final Console console;
    private final String log;
    private Instant vouched = Instant.EPOCH;

    FleetRun(FleetOption fleet, Catalogue catalogue, Console console, String log) {
        this.fleet = fleet;
        this.catalogue = catalogue;
        this.console = console;
        this.log = log;
    }

    FleetRun vouched(Instant upTo) {
        vouched = upTo;
        return this;
    }

    /**
     * @param listen where workers register and people look; null for no port
     * @param every how long between the beginnings of two cycles; null to run one and end
     */
    Answer run(@Nullable String listen, @Nullable Duration every, boolean empty) throws Exception {
        try (ManagedFleet managed = new ManagedFleet(
                        fleet.file(),
                        fleet.key(),
                        fleet.tls().files(),
                        fleet.ring(),
                        fleet.log(log),
                        catalogue,
                        Settings.ofProcess(),
                        listen);
                Watch watch = new Watch(console, managed.manager().vouched(vouched))) {
            managed.address().ifPresent(address -> console.note("manager at " + address));
            if (every != null) {
                try (DutyRunner runner = DutyRunner.start(2)) {
                    runner.add(watch);
                    runner.add(new CycleDuty(managed.manager(), every, empty, new Told(console)));
                    managed.await();
                }
                return Answer.ok();
            }
            if (listen != null && managed.isWithoutWorkers()) {
                console.note("waiting for workers to register");
                managed.awaitWorker();
            }
            CycleReport report;
            try (DutyRunner runner = DutyRunner.start(1)) {
                runner.add(watch);
                report = managed.manager().run();
            }
            if (!empty) {
                return answer(report, false);
            }
            SweepManager.Emptied emptied = managed.manager().empty();
            Answer answer = answer(report, !emptied.failures().isEmpty());
            answer.line(emptied.removed() + " pieces were deleted for good").field("emptied", emptied.removed());
            emptied.kept().forEach((node, why) -> answer.line("node " + node + ": " + why));
            emptied.failures().forEach((node, why) -> answer.line("node " + node + " was not emptied: " + why));
            return answer;
        }
    }

    /** A manager that stays says how each cycle went, and goes on with the next. */
    private record Told(Console console) implements CycleDuty.Listener {

        @Override
        public void ended(CycleReport report, long emptied) {
            console.say(line(report)
                    + (emptied == 0 ? "" : ", " + emptied + " deleted for good")
                    + (report.note().isEmpty() ? "" : "; " + report.note()));
        }

        @Override
        public void failed(HoldfastException why) {
            console.note("" + why.getMessage());
        }
    }

    /** A bar for the phase that is under way. */
    private static final class Watch implements Duty, AutoCloseable {
        private final Console console;
        private final SweepManager manager;
        private String phase = "";
        private @Nullable Progress bar;
        private long shown;

        Watch(Console console, SweepManager manager) {
            this.console = console;
            this.manager = manager;
        }

        @Override
        public String name() {
            return "sweep progress";
        }

        @Override
        public Step step() {
            FleetStatus status = manager.status();
            if (status.cycle() > 0) {
                show(status);
            }
            return Step.restFor(1, LOOK_EVERY);
        }

        private void show(FleetStatus status) {
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

    private static String line(CycleReport report) {
        return "cycle " + report.cycle() + " of " + report.owner() + ": " + report.rows()
                + " live pieces in the catalogue, " + report.examined() + " examined, " + report.wouldTrash()
                + " would be trashed, " + report.trashed() + " trashed";
    }

    /** What an operator may paste; many nodes go by a report. */
    private void approve(CycleReport report, Answer answer) throws IOException {
        List<CycleReport.OfNode> waiting = report.in("waiting").stream()
                .filter(node -> node.progress().filter(FleetRun::isApprovable).isPresent())
                .toList();
        if (waiting.isEmpty()) {
            return;
        }
        String which = waiting.size() > NODES_IN_A_LINE
                ? " --report FILE.json"
                : waiting.stream()
                        .map(node -> " --node " + node.node() + "="
                                + node.progress().map(NodeProgress::wouldTrash).orElse(0L))
                        .collect(Collectors.joining());
        answer.line("To let the waiting nodes go on: holdfast sweep approve " + report.cycle() + " --owner "
                + report.owner() + " --operator YOU" + which + " --fleet " + fleet.file() + " --key YOUR.key");
    }

    private static boolean isApprovable(NodeProgress told) {
        return Arrays.stream(Verdict.values())
                .anyMatch(verdict -> verdict.approvable() && verdict.name().equals(told.verdict()));
    }

    private Answer answer(CycleReport report, boolean notEmptied) throws IOException {
        boolean finding = notEmptied
                || report.in("waiting").size() == report.nodes().size()
                || !report.in("failed").isEmpty()
                || report.note().startsWith("nothing was trashed");
        Answer answer = finding ? Answer.finding() : Answer.ok();
        answer.line(line(report));
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
        approve(report, answer);
        return answer.field("note", report.note());
    }
}
