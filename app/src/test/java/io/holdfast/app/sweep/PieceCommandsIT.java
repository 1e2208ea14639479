package io.holdfast.app.sweep;

import static io.holdfast.app.sweep.CommandFleet.with;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Pieces of a node that runs, by command. */
class PieceCommandsIT {

    @RegisterExtension
    private final CommandFleet fleet = new CommandFleet();

    private void ok(Object... args) {
        assertThat(fleet.run(args)).as("%s: %s", List.of(args), fleet.out()).isEqualTo(ExitCode.OK);
    }

    @Test
    void piecesArePutReadListedRenewedAndDeleted() throws IOException {
        fleet.file("node n1 " + fleet.startNode("--pieces"));
        int idBytes = fleet.node().live().getFirst().length();
        Path photo = Files.writeString(fleet.at("photo.jpg"), "a photo");
        String piece = "n1/" + "ab".repeat(idBytes);
        Object[] where = {"--owner", "photos", "--fleet", fleet.at("fleet")};
        ok(with(List.of("sweep", "put", piece, photo), where));
        assertThat(fleet.out()).contains("stored");
        ok(with(List.of("sweep", "put", piece, photo), where));
        assertThat(fleet.out()).contains("already");
        ok(with(List.of("sweep", "list", "n1"), where));
        assertThat(fleet.out()).contains(fleet.node().live().getFirst().toString());
        ok(with(List.of("sweep", "renew", piece), where));
        ok(with(List.of("sweep", "get", piece, "--out", fleet.at("copy.jpg")), where));
        assertThat(fleet.at("copy.jpg")).hasContent("a photo");
        ok("why", "piece:" + piece, "--fleet", fleet.at("fleet"));
        assertThat(fleet.out()).contains("alive", "owner photos");
        ok(with(List.of("sweep", "delete", piece), where));
        for (String verb : List.of("delete", "renew")) {
            assertThat(fleet.run(with(List.of("sweep", verb, piece), where))).isEqualTo(ExitCode.NOT_FOUND);
        }
        assertThat(fleet.run(with(List.of("sweep", "get", piece, "--out", fleet.at("other.jpg")), where)))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(fleet.at("other.jpg")).doesNotExist();
    }

    @Test
    void nodeThatIsNotToldToServesNoPieces() throws IOException {
        fleet.file("node n1 " + fleet.startNode());
        assertThat(fleet.run("why", "piece:n1/" + "ab".repeat(16), "--fleet", fleet.at("fleet")))
                .isEqualTo(ExitCode.USAGE);
        assertThat(fleet.out()).contains("serves no pieces", "--pieces");
    }
}
