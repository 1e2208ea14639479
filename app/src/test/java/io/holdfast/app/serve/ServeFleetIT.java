package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.app.sweep.CommandFleet;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The daemon as the manager of a fleet. */
class ServeFleetIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    @RegisterExtension
    final Daemons daemons = new Daemons(REDIS);

    @RegisterExtension
    final CommandFleet fleet = new CommandFleet();

    private Daemon manager(String... more) throws IOException {
        List<String> lines = new ArrayList<>(List.of(
                "serve.sweep.catalogue = " + fleet.node().catalogue(),
                "serve.sweep.fleet = " + fleet.at("fleet"),
                "serve.sweep.key = " + fleet.managerKey()));
        lines.addAll(List.of(more));
        return daemons.start(lines.toArray(String[]::new));
    }

    @Test
    void twoDaemonsRunTheCyclesOfAFleetOnItsInterval() throws Exception {
        fleet.file("node n1 " + fleet.startNode(), "worker " + fleet.startWorker());
        String interval = "sweep.manager.interval = 1s";
        try (Daemon first = manager(interval);
                Daemon second = manager(interval)) {
            await().atMost(Daemons.PATIENCE)
                    .untilAsserted(() -> assertThat(cycles(first) + cycles(second))
                            .as("%s and %s", daemons.part(first, "sweep"), daemons.part(second, "sweep"))
                            .isGreaterThanOrEqualTo(3));
            await().atMost(Daemons.PATIENCE).until(() -> first.isReady() && second.isReady());
            assertThat(List.of(daemons.detail(first, "sweep"), daemons.detail(second, "sweep")))
                    .anySatisfy(detail -> assertThat(detail).startsWith("cycle "));
            assertThat(fleet.node().trashed()).isPositive();
        }
    }

    private static double cycles(Daemon daemon) {
        return daemon.registry().get("holdfast.sweep.cycles").counter().count();
    }

    @Test
    void aFleetWithoutAKeyIsRefused() {
        assertThatThrownBy(() -> daemons.start("serve.sweep.catalogue = x.csv", "serve.sweep.fleet = fleet")
                        .close())
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("serve.sweep.key is not");
    }

    @Test
    void aNodeThatCannotBeReachedIsToldOf() throws Exception {
        fleet.file("node n1 127.0.0.1:1", "worker 127.0.0.1:1");
        try (Daemon daemon = manager()) {
            await().atMost(Daemons.PATIENCE)
                    .until(() -> daemons.detail(daemon, "sweep").contains("failed: n1"));
        }
    }

    @Test
    void aPortThatIsTakenIsTriedAgainUntilItIsFree() throws Exception {
        fleet.file("node n1 " + fleet.startNode());
        String address;
        Daemon daemon;
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            address = "127.0.0.1:" + taken.getLocalPort();
            daemon = manager("serve.sweep.listen = " + address);
            daemons.awaitFailure(daemon, "sweep", "cannot listen at " + address);
        }
        try (daemon) {
            fleet.startWorker("--manager", address);
            await().atMost(Daemons.PATIENCE).until(() -> cycles(daemon) >= 1);
        }
    }
}
