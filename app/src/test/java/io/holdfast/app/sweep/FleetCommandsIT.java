package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.Time;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.manager.FileCycleStore;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of a fleet as an operator uses them, each that stays on a thread of its own. */
class FleetCommandsIT {

    private static final OwnerId OWNER = new OwnerId("photos");
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    private final List<Staying> staying = new ArrayList<>();
    private SmallNode node;
    private String out = "";
    private String nodeAddress = "";

    /** A command that does not end by itself. */
    private static final class Staying {
        private final StringWriter said = new StringWriter();
        private final Thread thread;

        Staying(Object... args) {
            Console console = Console.of(new PrintWriter(said, true), new PrintWriter(said, true));
            thread = Thread.ofVirtual().start(() -> new Cli(new HoldfastCommands(), console).run(texts(args)));
        }

        /** The rest of the first line that begins so. */
        String awaitLine(String head) {
            await().atMost(PATIENCE).until(() -> said.toString().contains(head));
            return said.toString()
                    .lines()
                    .filter(line -> line.contains(head))
                    .map(line ->
                            line.substring(line.indexOf(head) + head.length()).strip())
                    .findFirst()
                    .orElseThrow();
        }

        void end() throws InterruptedException {
            thread.interrupt();
            thread.join(PATIENCE);
        }
    }

    private static String[] texts(Object... args) {
        String[] texts = new String[args.length];
        for (int i = 0; i < args.length; i++) {
            texts[i] = args[i].toString();
        }
        return texts;
    }

    private ExitCode run(Object... args) {
        StringWriter written = new StringWriter();
        StringWriter notes = new StringWriter();
        ExitCode code = new Cli(new HoldfastCommands(), Console.of(new PrintWriter(written), new PrintWriter(notes)))
                .run(texts(args));
        out = written.toString() + notes;
        return code;
    }

    private Staying stay(Object... args) {
        Staying command = new Staying(args);
        staying.add(command);
        return command;
    }

    @BeforeEach
    void open() throws IOException {
        node = SmallNode.make(folder, OWNER, 60, 5);
        for (String[] key : new String[][] {{"manager-1", "manager", "manager.key"}, {"ann", "operator", "ann.key"}}) {
            assertThat(run("sweep", "keys", "new", key[0], "--role", key[1], "--key", at(key[2]), "--keys", at("keys")))
                    .isEqualTo(ExitCode.OK);
        }
        nodeAddress = stay("sweep", "node", node.folder(), "--listen", "127.0.0.1:0", "--keys", at("keys"))
                .awaitLine("node n1 at ");
    }

    @AfterEach
    void close() throws InterruptedException {
        for (Staying command : staying.reversed()) {
            command.end();
        }
    }

    private Path at(String name) {
        return folder.resolve(name);
    }

    private void fleet(String... more) throws IOException {
        List<String> lines = new ArrayList<>(List.of("# one node", "node n1 " + nodeAddress));
        lines.addAll(List.of(more));
        Files.write(at("fleet"), lines);
    }

    private String worker(Object... more) {
        List<Object> args =
                new ArrayList<>(List.of("sweep", "worker", "--listen", "127.0.0.1:0", "--keys", at("keys")));
        args.addAll(List.of(more));
        return stay(args.toArray()).awaitLine("worker at ");
    }

    private ExitCode cycle() {
        return run(
                "sweep",
                "run",
                "--catalogue",
                node.catalogue(),
                "--fleet",
                at("fleet"),
                "--key",
                at("manager.key"),
                "--log",
                at("log"));
    }

    @Test
    void runStatusRestoreAndAlarmsOfAFleet() throws IOException {
        fleet("worker " + worker());
        assertThat(cycle()).as(out).isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 1 of photos", "waiting for an operator: n1");
        assertThat(cycle()).as(out).isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 2 of photos");
        long trashed = node.trashed();
        assertThat(trashed).isPositive();

        assertThat(run("sweep", "status", "--fleet", at("fleet"), "--owner", "photos"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.lines().filter(line -> line.startsWith("n1")).findFirst().orElseThrow())
                .contains("2", "done", "READY");
        assertThat(run("sweep", "status", "--fleet", at("fleet"))).isEqualTo(ExitCode.USAGE);

        Object[] restore = {"sweep", "restore", "2", "--owner", "photos", "--fleet", at("fleet"), "--key"};
        assertThat(run(with(restore, at("manager.key"))))
                .as("only an operator restores")
                .isEqualTo(ExitCode.FINDING);
        assertThat(node.trashed()).isEqualTo(trashed);
        assertThat(run(with(restore, at("ann.key")))).as(out).isEqualTo(ExitCode.OK);
        assertThat(node.trashed()).isZero();

        Object[] alarms = {"sweep", "alarms", "--owner", "photos", "--log", at("log")};
        assertThat(run(alarms)).isEqualTo(ExitCode.OK);
        new CycleLog(new FileCycleStore(at("log")), Time.system()).raise(OWNER, true, "somebody must look");
        assertThat(run(alarms)).isEqualTo(ExitCode.FINDING);
        assertThat(out).contains("somebody must look");
        assertThat(cycle()).as("an alarm that stops").isNotEqualTo(ExitCode.OK);
        assertThat(out).contains("somebody must look");
        assertThat(run(with(alarms, "--end"))).isEqualTo(ExitCode.OK);
        assertThat(run(alarms)).isEqualTo(ExitCode.OK);
        assertThat(cycle()).as(out).isEqualTo(ExitCode.OK);
    }

    @Test
    void whoIsOutOfReachIsNamedInTheStatus() throws IOException {
        fleet("node n2 127.0.0.1:1");
        assertThat(run("sweep", "status", "--fleet", at("fleet"), "--owner", "photos"))
                .isEqualTo(ExitCode.FINDING);
        assertThat(out).contains("node n2 at 127.0.0.1:1 cannot be reached");
        assertThat(out.lines().filter(line -> line.startsWith("n1"))).hasSize(1);
        assertThat(run("sweep", "status", "--manager", "127.0.0.1:1")).isEqualTo(ExitCode.UNREACHABLE);
    }

    @Test
    void aManagerThatStaysRunsCycleAfterCycleWithWorkersThatRegister() throws IOException {
        fleet();
        System.setProperty("holdfast.sweep.manager.interval", "1s");
        try {
            Staying manager = stay(
                    "sweep",
                    "run",
                    "--catalogue",
                    node.catalogue(),
                    "--fleet",
                    at("fleet"),
                    "--key",
                    at("manager.key"),
                    "--log",
                    at("log"),
                    "--listen",
                    "127.0.0.1:0",
                    "--stay");
            String address = manager.awaitLine("manager at ");
            assertThat(run("sweep", "status", "--manager", address)).isEqualTo(ExitCode.OK);
            assertThat(out).contains("no cycle of photos has begun here");
            worker("--manager", address);
            manager.awaitLine("cycle 1 of photos");
            manager.awaitLine("cycle 2 of photos");
            manager.awaitLine("cycle 3 of photos");
            assertThat(run("sweep", "status", "--manager", address)).isEqualTo(ExitCode.OK);
            assertThat(out).contains("of photos", "n1");
            assertThat(node.trashed()).isPositive();
        } finally {
            System.clearProperty("holdfast.sweep.manager.interval");
        }
    }

    private static Object[] with(Object[] args, Object last) {
        List<Object> all = new ArrayList<>(List.of(args));
        all.add(last);
        return all.toArray();
    }
}
