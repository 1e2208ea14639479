package io.holdfast.app.sweep;

import io.holdfast.Time;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.piece.OwnerId;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The alarms of a fleet. */
@Command(
        name = "alarms",
        description = {
            "Show what a person must look at. Exit code 1 if an alarm stands.",
        },
        footer = {
            "  holdfast sweep alarms --owner photos --log /var/lib/holdfast",
            "  holdfast sweep alarms --owner photos --log redis://localhost:6379 --end",
        })
public final class AlarmsCommand extends CliCommand {

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose cycles.")
    private String owner = "";

    @Option(names = "--log", paramLabel = "WHERE", required = true, description = "The manager's log: folder or Redis.")
    private String log = "";

    @Option(names = "--end", description = "End all of them: somebody has looked.")
    private boolean end;

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Override
    protected Answer run(Console console) throws Exception {
        try (fleet) {
            CycleLog cycles = new CycleLog(fleet.existingLog(log), Time.system());
            OwnerId of = new OwnerId(owner);
            CycleLog.State state = cycles.state(of);
            Table table = Table.of("at", "stopsCycles", "alarm");
            state.alarms().forEach(alarm -> table.row(alarm.at(), alarm.stops(), alarm.text()));
            if (end) {
                int ended = cycles.endAlarms(of);
                return Answer.ok()
                        .line(ended + " alarms are ended")
                        .field("ended", ended)
                        .table("alarms", table);
            }
            String cycle = state.cycle() == 0
                    ? "no cycle of " + owner + " was begun"
                    : "cycle " + state.cycle() + ": " + (state.outcome().isEmpty() ? "runs" : state.outcome());
            return (table.size() > 0 ? Answer.finding() : Answer.ok())
                    .line(cycle)
                    .field("cycle", state.cycle())
                    .table("alarms", table);
        }
    }
}
