package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands as an operator uses them, one after the other. */
class SweepCommandsTest {

    private static final OwnerId OWNER = new OwnerId("photos");

    @TempDir
    private Path folder;

    private List<PieceId> live = List.of();
    private List<PieceId> garbage = List.of();
    private Path node;
    private Path catalogue;
    private String out = "";

    @BeforeEach
    void fill() throws IOException {
        SmallNode made = SmallNode.make(folder, OWNER, 60, 5);
        node = made.folder();
        catalogue = made.catalogue();
        live = made.live();
        garbage = made.garbage();
    }

    @Test
    void planRunStatusWhyAndRestore() {
        assertThat(run("sweep", "plan", "--catalogue", catalogue, "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 1 of photos", "first-cycle");
        assertThat(run("sweep", "run", "--catalogue", catalogue, "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 2 of photos: 60 live pieces", " trashed");
        assertThat(run("sweep", "status", "--nodes", node)).isEqualTo(ExitCode.OK);
        assertThat(out).contains("EMPTIES AT");
        String trashed = garbage.stream()
                .map(PieceId::toString)
                .filter(id ->
                        run("why", "piece:n1/" + id, "--nodes", node) == ExitCode.OK && out.contains("in the trash"))
                .findFirst()
                .orElseThrow();
        assertThat(out).contains("cycle 2 of photos for n1");
        assertThat(run("sweep", "restore", "2", "--owner", "photos", "--nodes", node))
                .isEqualTo(ExitCode.OK);
        run("why", "piece:n1/" + trashed, "--nodes", node, "--catalogue", catalogue, "--json");
        assertThat(out.replaceAll("\\s", ""))
                .contains("\"state\":\"alive\"", "\"detail\":\"restored\"", "\"inCatalogue\":false");
        run("why", "piece:n1/" + live.getFirst(), "--nodes", node, "--catalogue", catalogue);
        assertThat(out).contains("the catalogue knows it: it is live");
    }

    /** The first thing that a newcomer sees: all is there, and nothing is trashed yet. */
    @Test
    void aRunThatIsHeldBackSaysWhatIsLiveAndWhyAndEndsWithAFinding() {
        assertThat(run("sweep", "run", "--catalogue", catalogue, "--nodes", node))
                .isEqualTo(ExitCode.FINDING);
        // Of the five that are garbage, some pass by chance.
        assertThat(out).containsPattern("n1 +first-cycle +65 +6[0-5] ").contains("sweep approve 1 --owner photos");
    }

    @Test
    void approveTakesExactlyTheReportedNumber() {
        run("sweep", "plan", "--catalogue", catalogue, "--nodes", node, "--json");
        String count = out.replaceAll("(?s).*\"wouldTrash\":\\s*(\\d+).*", "$1");
        Object[] approve = {"sweep", "approve", "1", "--owner", "photos", "--operator", "ann", "--nodes", node, "--node"
        };
        assertThat(run(with(approve, "n1=999"))).isEqualTo(ExitCode.FINDING);
        assertThat(out).contains("nothing was trashed");
        assertThat(run(with(approve, "n1=" + count))).isEqualTo(ExitCode.OK);
        assertThat(out).contains("done");
        assertThat(run(with(approve, "n1=" + count))).as("only once").isEqualTo(ExitCode.NOT_FOUND);
    }

    @Test
    void wrongInputIsToldInOneLine() throws IOException {
        assertThat(run("sweep", "plan", "--catalogue", folder.resolve("no.csv"), "--nodes", node))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "plan", "--catalogue", catalogue, "--nodes", folder))
                .isEqualTo(ExitCode.USAGE);
        assertThat(folder.resolve("pieces")).doesNotExist();
        Files.write(catalogue, new byte[] {'x'}, java.nio.file.StandardOpenOption.APPEND);
        assertThat(run("sweep", "run", "--catalogue", catalogue, "--nodes", node))
                .isEqualTo(ExitCode.CORRUPT);
        assertThat(run("why", "piece:n2/abc", "--nodes", node)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("why", "piece:n1/abc", "--nodes", node)).isEqualTo(ExitCode.USAGE);
        assertThat(run("sweep", "plan", "--catalogue", "jdbc:h2:mem:x", "--nodes", node))
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void whatIsNotThereIsNotFoundAndNothingIsMade() {
        Path absent = folder.resolve("absent");
        assertThat(run("sweep", "status", "--nodes", absent)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "alarms", "--owner", "photos", "--log", absent)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "keys", "list", "--keys", absent)).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "worker", "--listen", "127.0.0.1:0", "--keys", absent))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "losses", "3", "--owner", "fotos", "--nodes", node))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("sweep", "restore", "1", "--owner", "fotos", "--nodes", node))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(absent).doesNotExist();
    }

    @Test
    void aRestoreThatFindsNothingSaysSo() {
        assertThat(run("sweep", "plan", "--catalogue", catalogue, "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(run("sweep", "restore", "1", "--owner", "photos", "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(out).contains("nothing of cycle 1 was in the trash");
        assertThat(run("sweep", "restore", "9", "--owner", "photos", "--nodes", node))
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void aUrlThatNoDriverUnderstandsIsWrongAndADatabaseThatIsAwayIsUnreachable() {
        assertThat(run("sweep", "plan", "--catalogue", "jdbc:nonsense:x", "--query", "q", "--nodes", node))
                .isEqualTo(ExitCode.USAGE);
        String away = "jdbc:postgresql://127.0.0.1:1/photos?password=sesame&loginTimeout=1";
        assertThat(run("sweep", "plan", "--catalogue", away, "--query", "q", "--nodes", node))
                .isEqualTo(ExitCode.UNREACHABLE);
    }

    @Test
    void aTableOfADatabaseIsACatalogue() throws SQLException {
        String url = "jdbc:h2:mem:pieces;DB_CLOSE_DELAY=-1";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("create table pieces (node varchar(64), id binary(32), created timestamp)");
            try (PreparedStatement insert = connection.prepareStatement("insert into pieces values (?, ?, ?)")) {
                for (PieceId id : live) {
                    insert.setString(1, "n1");
                    insert.setBytes(2, id.bytes());
                    insert.setTimestamp(3, Timestamp.from(Instant.now()));
                    insert.executeUpdate();
                }
            }
        }
        String query = "select node, id, created from pieces";
        assertThat(run("sweep", "plan", "--catalogue", url, "--query", query, "--owner", "photos", "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 1 of photos: 60 live pieces", "65 examined");
        assertThat(run("sweep", "run", "--catalogue", url, "--query", query, "--owner", "photos", "--nodes", node))
                .isEqualTo(ExitCode.OK);
        assertThat(out).contains("cycle 2 of photos: 60 live pieces", " trashed");
        assertThat(run("sweep", "plan", "--catalogue", url, "--query", "select 1", "--nodes", node))
                .isNotEqualTo(ExitCode.OK);
    }

    @Test
    void aTerminalSeesABarForEachPhaseAndAFileNone() {
        StringWriter screen = new StringWriter();
        String[] plan = {"sweep", "plan", "--catalogue", catalogue.toString(), "--nodes", node.toString()};
        Console watched = Console.terminal(new PrintWriter(new StringWriter()), new PrintWriter(screen));
        assertThat(new Cli(new HoldfastCommands(), watched).run(plan)).isEqualTo(ExitCode.OK);
        assertThat(screen.toString()).contains("scan", "examine", "100%", "\r");
        StringWriter file = new StringWriter();
        Console unwatched = Console.of(new PrintWriter(new StringWriter()), new PrintWriter(file));
        assertThat(new Cli(new HoldfastCommands(), unwatched).run(plan)).isEqualTo(ExitCode.OK);
        assertThat(file.toString()).doesNotContain("%");
    }

    private static Object[] with(Object[] args, Object last) {
        List<Object> all = new ArrayList<>(List.of(args));
        all.add(last);
        return all.toArray();
    }

    private ExitCode run(Object... args) {
        StringWriter written = new StringWriter();
        Console console = Console.of(new PrintWriter(written), new PrintWriter(new StringWriter()));
        String[] texts = new String[args.length];
        for (int i = 0; i < args.length; i++) {
            texts[i] = args[i].toString();
        }
        ExitCode code = new Cli(new HoldfastCommands(), console).run(texts);
        out = written.toString();
        return code;
    }
}
