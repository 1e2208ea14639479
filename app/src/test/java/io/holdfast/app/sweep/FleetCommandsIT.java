package io.holdfast.app.sweep;

import static io.holdfast.app.sweep.CommandFleet.OWNER;
import static io.holdfast.app.sweep.CommandFleet.PATIENCE;
import static io.holdfast.app.sweep.CommandFleet.with;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.InternalChannelz;
import io.holdfast.Time;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.manager.FileCycleStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The commands of a fleet as an operator uses them, each that stays on a thread of its own. */
class FleetCommandsIT {

    @RegisterExtension
    final CommandFleet fleet = new CommandFleet();

    private String node = "";

    @BeforeEach
    void open() {
        node = "node n1 " + fleet.startNode();
    }

    @Test
    void runStatusRestoreAndAlarmsOfAFleet() throws IOException {
        fleet.file("# one node", node, "worker " + fleet.startWorker());
        assertThat(fleet.run(fleet.cycle())).as("every node waits").isEqualTo(ExitCode.FINDING);
        assertThat(fleet.out()).contains("cycle 1 of photos", "waiting for an operator: n1");
        ok(fleet.cycle());
        assertThat(fleet.out()).contains("cycle 2 of photos");
        long trashed = fleet.node().trashed();
        assertThat(trashed).isPositive();

        ok("sweep", "status", "--fleet", fleet.at("fleet"), "--owner", "photos");
        assertThat(lineOf("n1")).contains("2", "done", "ready");
        assertThat(fleet.run("sweep", "status", "--fleet", fleet.at("fleet"))).isEqualTo(ExitCode.USAGE);

        List<Object> restore =
                List.of("sweep", "restore", "2", "--owner", "photos", "--fleet", fleet.at("fleet"), "--key");
        assertThat(fleet.run(with(restore, fleet.managerKey())))
                .as("only an operator restores")
                .isEqualTo(ExitCode.FINDING);
        assertThat(fleet.node().trashed()).isEqualTo(trashed);
        ok(with(restore, fleet.operatorKey()));
        assertThat(fleet.node().trashed()).isZero();

        List<Object> alarms = List.of("sweep", "alarms", "--owner", "photos", "--log", fleet.at("log"));
        ok(with(alarms));
        new CycleLog(new FileCycleStore(fleet.at("log")), Time.system())
                .raise(OWNER, true, "operator", "somebody must look");
        assertThat(fleet.run(with(alarms))).isEqualTo(ExitCode.FINDING);
        assertThat(fleet.out()).contains("somebody must look");
        assertThat(fleet.run(fleet.cycle())).as("an alarm that stops").isNotEqualTo(ExitCode.OK);
        assertThat(fleet.out()).contains("somebody must look");
        ok(with(alarms, "--end"));
        ok(with(alarms));
        ok(fleet.cycle());
    }

    /** The first cycle waits; its operator has read the report, and approves it whole. */
    @Test
    void aReportIsApprovedAndTheLineThatIsPrintedToo() throws IOException {
        fleet.file(node, "worker " + fleet.startWorker());
        assertThat(fleet.run(fleet.cycle("--json"))).isEqualTo(ExitCode.FINDING);
        String json =
                fleet.out().substring(fleet.out().indexOf('{'), fleet.out().lastIndexOf('}') + 1);
        Path report = Files.writeString(fleet.at("cycle1.json"), json);
        List<Object> approve = List.of("sweep", "approve", "1", "--owner", "photos", "--operator", "ann");
        Object[] where = {"--report", report, "--fleet", fleet.at("fleet"), "--key", fleet.operatorKey()};
        assertThat(fleet.run(with(List.of("sweep", "approve", "2", "--owner", "photos", "--operator", "ann"), where)))
                .as("of another cycle")
                .isEqualTo(ExitCode.USAGE);
        ok(with(approve, where));
        await().atMost(CommandFleet.PATIENCE)
                .untilAsserted(() -> assertThat(fleet.node().trashed()).isPositive());
    }

    @Test
    void theLineToApproveCanBePasted() throws IOException {
        fleet.file(node, "worker " + fleet.startWorker());
        assertThat(fleet.run(fleet.cycle())).isEqualTo(ExitCode.FINDING);
        String line = fleet.out()
                .lines()
                .filter(said -> said.contains("holdfast sweep approve"))
                .findFirst()
                .orElseThrow();
        String pasted = line.substring(line.indexOf("sweep approve"))
                .replace("YOUR.key", fleet.operatorKey().toString())
                .replace("YOU", "ann");
        ok((Object[]) pasted.split(" "));
        await().atMost(CommandFleet.PATIENCE)
                .untilAsserted(() -> assertThat(fleet.node().trashed()).isPositive());
    }

    private void ok(Object... args) {
        assertThat(fleet.run(args)).as("%s: %s", List.of(args), fleet.out()).isEqualTo(ExitCode.OK);
    }

    private String lineOf(String name) {
        return fleet.out()
                .lines()
                .filter(line -> line.startsWith(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void whoIsOutOfReachIsNamedInTheStatus() throws IOException {
        fleet.file(node, "node n2 127.0.0.1:1");
        assertThat(fleet.run("sweep", "status", "--fleet", fleet.at("fleet"), "--owner", "photos"))
                .isEqualTo(ExitCode.FINDING);
        assertThat(fleet.out()).contains("node n2 at 127.0.0.1:1 cannot be reached");
        assertThat(lineOf("n1")).contains("unknown");
        assertThat(fleet.run("sweep", "status", "--manager", "127.0.0.1:1")).isEqualTo(ExitCode.UNREACHABLE);
    }

    @Test
    void aManagerThatStaysRunsCycleAfterCycleWithWorkersThatRegister() throws IOException {
        fleet.file(node);
        System.setProperty("holdfast.sweep.manager.interval", "1s");
        try {
            CommandFleet.Staying manager = fleet.stay(fleet.cycle("--listen", "127.0.0.1:0", "--stay"));
            String address = manager.awaitLine("manager at ");
            ok("sweep", "status", "--manager", address);
            assertThat(fleet.out()).contains("no cycle of photos has begun here");
            fleet.startWorker("--manager", address);
            manager.awaitLine("cycle 1 of photos");
            manager.awaitLine("cycle 2 of photos");
            manager.awaitLine("cycle 3 of photos");
            CommandFleet.Staying watching = fleet.stay("sweep", "status", "--manager", address, "--watch");
            watching.awaitLine("60 of 60 rows");
            ok("sweep", "status", "--manager", address);
            assertThat(fleet.out()).contains("of photos", "n1");
            assertThat(fleet.node().trashed()).isPositive();
        } finally {
            System.clearProperty("holdfast.sweep.manager.interval");
        }
    }

    @Test
    void aPortThatIsTakenIsNamedAndNoConnectionIsLeftBehind() throws Exception {
        fleet.file("node n2 127.0.0.1:1");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String address = "127.0.0.1:" + taken.getLocalPort();
            assertThat(fleet.run(fleet.cycle("--listen", address))).isEqualTo(ExitCode.UNREACHABLE);
            assertThat(fleet.out()).contains("cannot listen at " + address);
        }
        await().atMost(PATIENCE).until(() -> channelsTo("dns:///127.0.0.1:1") == 0);
    }

    /** The channels of this process that are open, by gRPC's own register. */
    private static long channelsTo(String target) throws Exception {
        long count = 0;
        for (var channel : InternalChannelz.instance().getRootChannels(0, 1000).channels) {
            count += channel.getStats().get().target.equals(target) ? 1 : 0;
        }
        return count;
    }
}
