package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.testkit.Certificates;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A fleet whose ports all ask for certificates: it works, and each port lets in the roles that have business there. */
class FleetTlsIT {

    @RegisterExtension
    final CommandFleet fleet = new CommandFleet();

    private Certificates certificates;

    @BeforeEach
    void make() throws Exception {
        certificates =
                Certificates.make(Files.createDirectory(fleet.at("tls")), "manager", "worker", "node", "operator");
    }

    private Object[] as(String role, Object... args) {
        List<Object> all = new ArrayList<>(List.of(args));
        all.addAll(List.of(
                "--tls-certificate",
                certificates.certificate(role),
                "--tls-key",
                certificates.key(role),
                "--tls-authorities",
                certificates.authorities()));
        return all.toArray();
    }

    @Test
    void aCycleRunsOverMutualTlsAndEachPortLetsInItsRolesAlone() throws Exception {
        String node = fleet.startNode(as("node"));
        fleet.file("node n1 " + node);
        CommandFleet.Staying managing = fleet.stay(as("manager", fleet.cycle("--listen", "127.0.0.1:0", "--stay")));
        String manager = managing.awaitLine("manager at ");
        String worker = fleet.startWorker(as("worker", "--manager", manager));
        managing.awaitLine("cycle 1 of photos");
        fleet.file("node n1 " + node, "worker " + worker);

        Object[] ofNodes = {"sweep", "status", "--fleet", fleet.at("fleet"), "--owner", "photos"};
        assertThat(fleet.run(as("operator", ofNodes))).as(fleet.out()).isEqualTo(ExitCode.OK);
        assertThat(fleet.out()).contains("first-cycle");
        refused(ofNodes, "node");
        assertThat(fleet.run(ofNodes)).as("without a certificate").isEqualTo(ExitCode.FINDING);

        Object[] ofManager = {"sweep", "status", "--manager", manager};
        assertThat(fleet.run(as("operator", ofManager))).as(fleet.out()).isEqualTo(ExitCode.OK);
        refused(ofManager, "node");
        assertThat(fleet.run(ofManager)).as("without a certificate").isEqualTo(ExitCode.UNREACHABLE);

        // To its worker, a manager that shows an operator's certificate is none.
        assertThat(fleet.run(as("operator", fleet.cycle()))).isNotEqualTo(ExitCode.OK);
        assertThat(fleet.out()).contains("0 workers answer");
    }

    private void refused(Object[] command, String role) {
        assertThat(fleet.run(as(role, command))).isNotEqualTo(ExitCode.OK);
        assertThat(fleet.out()).contains("the certificate is of " + role);
    }
}
