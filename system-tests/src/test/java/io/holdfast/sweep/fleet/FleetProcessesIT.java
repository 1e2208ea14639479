package io.holdfast.sweep.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.Main;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.sweep.catalogue.BinaryFile;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.node.FilePieceStore;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A manager, three workers and six storage nodes as processes on loopback, one piece in five garbage. A dry run; one
 * node approved; then a cycle in which a worker is killed while the catalogue is read and a node while it trashes.
 *
 * <p>{@code -Dpieces=2000000} for the size that the design names; the default is for every build.
 */
class FleetProcessesIT {

    private static final int NODES = 6;
    private static final int WORKERS = 3;
    private static final int GARBAGE_ONE_IN = 5;
    private static final double RATE = 0.1;
    private static final OwnerId OWNER = new OwnerId("photos");
    private static final int PIECES = Integer.getInteger("pieces", 18_000);

    @TempDir
    private Path folder;

    private final Map<String, ChildJvm> nodes = new TreeMap<>();
    private final Map<String, Integer> ports = new TreeMap<>();
    private final List<ChildJvm> workers = new ArrayList<>();
    private final Map<String, List<String>> live = new TreeMap<>();
    private long garbage;
    private long rows;

    @AfterEach
    void stop() {
        nodes.values().forEach(ChildJvm::close);
        workers.forEach(ChildJvm::close);
    }

    @Test
    void aKilledWorkerAndAKilledNodeCostTimeAndNoPiece() throws Exception {
        fill();
        startAll();
        assertThat(run(ExitCode.FINDING, managed("run", "--catalogue", catalogue(), "--log", folder.resolve("log"))))
                .as("every node waits")
                .contains("cycle 1 of photos", "first-cycle");
        assertThat(garbageLeft()).isEqualTo(garbage);
        approve("n1");

        try (ChildJvm manager = ChildJvm.of(SlowManager.class)
                .arguments(catalogue(), fleetFile(), folder.resolve("manager.key"), folder.resolve("log"), rows)
                .property("holdfast.sweep.fleet-limit", "100")
                .property("holdfast.sweep.manager.worker-patience", "5s")
                .options("-Xmx512m")
                .launch()) {
            manager.awaitLine("a third"::equals);
            workers.getFirst().kill();
            manager.awaitLine("phase trash"::equals);
            Objects.requireNonNull(nodes.get("n2")).kill();
            startNode("n2");
            String done = manager.awaitLine(line -> line.startsWith("done"));
            assertThat(done).startsWith("done 6 attempts 2").endsWith("failed []");
        }
        everyLivePieceIsThere();
        double once = garbageLeft() / (double) garbage;
        assertThat(once).as("survives one cycle").isLessThan(1.2 * RATE);

        assertThat(run(managed("run", "--catalogue", catalogue(), "--log", folder.resolve("log"))))
                .contains("cycle 3 of photos");
        everyLivePieceIsThere();
        double twice = garbageLeft() / (double) garbage;
        System.out.printf(
                "%d pieces, %d garbage: %.4f left after one cycle, %.5f after two%n", PIECES, garbage, once, twice);
        assertThat(twice).as("survives two").isLessThan(2 * RATE * RATE);
    }

    private void approve(String node) throws Exception {
        Path folderOf = folder.resolve(node);
        String status = run("sweep", "keys", "list", "--keys", folder.resolve("keys"));
        assertThat(status).contains("manager-1", "ann", "VALID".toLowerCase(java.util.Locale.ROOT));
        long wouldTrash = Long.parseLong(Objects.requireNonNull(planned.get(node)));
        String answer = run(
                "sweep",
                "approve",
                "1",
                "--owner",
                "photos",
                "--operator",
                "ann",
                "--node",
                node + "=" + wouldTrash,
                "--fleet",
                fleetFile(),
                "--key",
                folder.resolve("ann.key"));
        assertThat(answer).contains("trashing");
        Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> count(folderOf.resolve("trash")) == wouldTrash);
    }

    private final Map<String, String> planned = new TreeMap<>();

    private Object[] managed(String verb, Object... more) {
        List<Object> all =
                new ArrayList<>(List.of("sweep", verb, "--fleet", fleetFile(), "--key", folder.resolve("manager.key")));
        all.addAll(List.of(more));
        return all.toArray();
    }

    private Path catalogue() {
        return folder.resolve("catalogue");
    }

    private Path fleetFile() {
        return folder.resolve("fleet");
    }

    private String run(Object... args) {
        return run(ExitCode.OK, args);
    }

    private String run(ExitCode expected, Object... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        System.setProperty("holdfast.sweep.fleet-limit", "100");
        try {
            String[] texts = Stream.of(args).map(Object::toString).toArray(String[]::new);
            ExitCode code =
                    new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(texts);
            assertThat(code).as(out.toString() + err).isEqualTo(expected);
        } finally {
            System.clearProperty("holdfast.sweep.fleet-limit");
        }
        for (String line : out.toString().lines().toList()) {
            String[] words = line.strip().split("\\s+");
            if (words.length > 7 && words[0].matches("n[0-9]")) {
                planned.put(words[0], words[6]);
            }
        }
        return out.toString();
    }

    private void startAll() throws Exception {
        for (String[] key : new String[][] {{"manager-1", "manager", "manager.key"}, {"ann", "operator", "ann.key"}}) {
            run(
                    "sweep",
                    "keys",
                    "new",
                    key[0],
                    "--role",
                    key[1],
                    "--key",
                    folder.resolve(key[2]),
                    "--keys",
                    folder.resolve("keys"));
        }
        List<String> lines = new ArrayList<>();
        for (int i = 1; i <= NODES; i++) {
            String name = "n" + i;
            ports.put(name, freePort());
            startNode(name);
            lines.add("node " + name + " 127.0.0.1:" + ports.get(name));
        }
        for (int i = 0; i < WORKERS; i++) {
            ChildJvm worker = ChildJvm.of(Main.class)
                    .arguments("sweep", "worker", "--listen", "127.0.0.1:0", "--keys", folder.resolve("keys"))
                    .options("-Xmx512m")
                    .launch();
            workers.add(worker);
            lines.add("worker "
                    + worker.awaitLine(line -> line.startsWith("worker at ")).substring("worker at ".length()));
        }
        Files.write(fleetFile(), lines);
    }

    /** The walks are slow enough that a kill meets one. */
    private void startNode(String name) {
        ChildJvm node = ChildJvm.of(Main.class)
                .arguments(
                        "sweep",
                        "node",
                        folder.resolve(name),
                        "--listen",
                        "127.0.0.1:" + ports.get(name),
                        "--keys",
                        folder.resolve("keys"))
                .property("holdfast.sweep.node.brake", "100")
                .property("holdfast.sweep.node.walk-limit", String.valueOf(Math.max(3_000, PIECES / NODES)))
                .launch();
        node.awaitLine(line -> line.startsWith("node " + name + " at "));
        nodes.put(name, node);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void fill() throws IOException {
        List<NodeId> names = new ArrayList<>();
        for (int i = 1; i <= NODES; i++) {
            names.add(new NodeId("n" + i));
        }
        SplittableRandom random = new SplittableRandom(7);
        FileTime old = FileTime.from(Instant.now().minus(Duration.ofDays(10)));
        FileCatalogue.Head head = new FileCatalogue.Head(OWNER, Instant.now(), "db-1");
        try (FileCatalogue.Writer writer = BinaryFile.write(catalogue(), head, 32, names)) {
            for (NodeId name : names) {
                String pieces = makeNode(name);
                List<String> known = new ArrayList<>();
                for (int i = 0; i < PIECES / NODES; i++) {
                    byte[] id = new byte[32];
                    random.nextBytes(id);
                    String text = PieceId.of(id).toString();
                    Path file = Path.of(pieces, text.substring(0, 2), text.substring(2));
                    if (!file.toFile().getParentFile().isDirectory()) {
                        Files.createDirectory(Objects.requireNonNull(file.getParent()));
                    }
                    Files.setLastModifiedTime(Files.createFile(file), old);
                    if (i % GARBAGE_ONE_IN == 0) {
                        garbage++;
                    } else {
                        writer.piece(name, id, System.currentTimeMillis());
                        known.add(text);
                        rows++;
                    }
                }
                live.put(name.name(), known);
            }
        }
    }

    /** An empty node that knows its owner; answers where its pieces lie. */
    private String makeNode(NodeId name) throws IOException {
        try (StorageNode node = StorageNode.at(folder.resolve(name.name()), name.name())
                .sync(FilePieceStore.Sync.NONE)
                .open()) {
            PieceId first = PieceId.of(new byte[32]);
            node.put(OWNER, first, new ByteArrayInputStream(new byte[1]));
            node.delete(OWNER, first);
        }
        return folder.resolve(name + "/pieces/" + OWNER.folder()).toString();
    }

    private void everyLivePieceIsThere() {
        live.forEach((node, pieces) -> {
            Path of = folder.resolve(node + "/pieces/" + OWNER.folder());
            for (String piece : pieces) {
                assertThat(of.resolve(piece.substring(0, 2))
                                .resolve(piece.substring(2))
                                .toFile()
                                .isFile())
                        .as("live piece %s of %s", piece, node)
                        .isTrue();
            }
        });
    }

    private long garbageLeft() throws IOException {
        long all = 0;
        for (String node : live.keySet()) {
            all += count(folder.resolve(node + "/pieces"));
        }
        return all - rows;
    }

    private static long count(Path path) throws IOException {
        if (!Files.isDirectory(path)) {
            return 0;
        }
        try (Stream<Path> files = Files.walk(path)) {
            return files.filter(Files::isRegularFile).count();
        }
    }
}
