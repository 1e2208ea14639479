package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A small fleet as an operator makes it: keys, one storage node, workers, a fleet file, each by its command. Commands that stay
 * run on threads of this process, and end with the test that registers this as an extension.
 */
public final class CommandFleet implements BeforeEachCallback, AfterEachCallback {

    public static final OwnerId OWNER = new OwnerId("photos");
    public static final Duration PATIENCE = Duration.ofSeconds(30);

    private final List<Staying> staying = new ArrayList<>();
    private Path folder = Path.of("");
    private SmallNode node = new SmallNode(folder, folder, List.of(), List.of());
    private String out = "";

    /** A command that does not end by itself. */
    public static final class Staying {
        private final StringWriter said = new StringWriter();
        private final Thread thread;

        private Staying(Object... args) {
            Console console = Console.of(new PrintWriter(said, true), new PrintWriter(said, true));
            thread = Thread.ofVirtual().start(() -> new Cli(new HoldfastCommands(), console).run(texts(args)));
        }

        /** The rest of the first line that has these words. */
        public String awaitLine(String head) {
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(said.toString()).contains(head));
            return said.toString()
                    .lines()
                    .filter(line -> line.contains(head))
                    .map(line ->
                            line.substring(line.indexOf(head) + head.length()).strip())
                    .findFirst()
                    .orElseThrow();
        }

        private void end() throws InterruptedException {
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

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        folder = Files.createTempDirectory("holdfast-fleet-");
        node = SmallNode.make(folder, OWNER, 60, 5);
        newKey("manager-1", "manager", managerKey());
        newKey("ann", "operator", operatorKey());
    }

    private void newKey(String name, String role, Path key) {
        assertThat(run("sweep", "keys", "new", name, "--role", role, "--key", key, "--keys", at("keys")))
                .isEqualTo(ExitCode.OK);
    }

    @Override
    public void afterEach(ExtensionContext context) throws InterruptedException {
        for (Staying command : staying.reversed()) {
            command.end();
        }
        ScratchFolder.remove(folder);
    }

    public Path at(String name) {
        return folder.resolve(name);
    }

    public Path managerKey() {
        return at("manager.key");
    }

    Path operatorKey() {
        return at("ann.key");
    }

    public SmallNode node() {
        return node;
    }

    /** Runs a command to its end. */
    ExitCode run(Object... args) {
        StringWriter written = new StringWriter();
        StringWriter notes = new StringWriter();
        ExitCode code = new Cli(new HoldfastCommands(), Console.of(new PrintWriter(written), new PrintWriter(notes)))
                .run(texts(args));
        out = written.toString() + notes;
        return code;
    }

    /** What the last command wrote. */
    String out() {
        return out;
    }

    Staying stay(Object... args) {
        Staying command = new Staying(args);
        staying.add(command);
        return command;
    }

    /** Serves the node; answers where. */
    public String startNode(Object... more) {
        return stay(with(
                        List.of("sweep", "node", node.folder(), "--listen", "127.0.0.1:0", "--keys", at("keys")), more))
                .awaitLine("node n1 at ");
    }

    /** Starts a worker; answers where. */
    public String startWorker(Object... more) {
        return stay(with(List.of("sweep", "worker", "--listen", "127.0.0.1:0", "--keys", at("keys")), more))
                .awaitLine("worker at ");
    }

    /** Writes the fleet file. */
    public Path file(String... lines) throws IOException {
        return Files.write(at("fleet"), List.of(lines));
    }

    /** The command that runs one cycle of the fleet file's fleet. */
    Object[] cycle(Object... more) {
        return with(
                List.of(
                        "sweep",
                        "run",
                        "--catalogue",
                        node.catalogue(),
                        "--fleet",
                        at("fleet"),
                        "--key",
                        managerKey(),
                        "--log",
                        at("log")),
                more);
    }

    static Object[] with(List<Object> args, Object... more) {
        List<Object> all = new ArrayList<>(args);
        all.addAll(List.of(more));
        return all.toArray();
    }
}
