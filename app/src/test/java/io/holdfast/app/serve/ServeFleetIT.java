package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.app.sweep.SmallNode;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.NodeService;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.RpcServer;
import io.holdfast.sweep.rpc.WorkerService;
import io.holdfast.sweep.worker.SweepWorker;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The daemon as the manager of a fleet. */
class ServeFleetIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    Path folder;

    private Daemon daemon(String... lines) throws IOException {
        Path config = Files.writeString(
                folder.resolve("holdfast.properties"),
                "redis.uri = " + REDIS.uri() + "\nserve.listen = 127.0.0.1:0\n" + String.join("\n", lines) + "\n");
        return Daemon.start(ServeSettings.read(config, new Properties(), Map.of()));
    }

    private static String detail(Daemon daemon) {
        return daemon.parts().stream()
                .filter(part -> part.name().equals("sweep"))
                .map(part -> part.failure().map(why -> "failed: " + why).orElseGet(part::detail))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void twoDaemonsRunTheCyclesOfAFleetOnItsInterval() throws Exception {
        SmallNode small = SmallNode.make(folder, new OwnerId("photos"), 60, 5);
        SigningKey key = SigningKey.generate("manager-1");
        key.write(folder.resolve("manager.key"));
        KeyRing ring = KeyRing.of(List.of(
                KeyRing.entry(key, KeyRing.Role.MANAGER, Instant.EPOCH, Instant.parse("2100-01-01T00:00:00Z"))));
        try (StorageNode node = StorageNode.at(small.folder(), "n1").open();
                Peers peers = new Peers(Optional.empty());
                RpcServer nodeServer = RpcServer.start(
                        "127.0.0.1:0",
                        new NodeService(new NodeAgent(node, ring, Runnable::run, Time.system())),
                        Optional.empty(),
                        Set.of());
                RpcServer worker = RpcServer.start(
                        "127.0.0.1:0",
                        new WorkerService(new SweepWorker(1, 1 << 20, ring, peers::retain, Time.system())),
                        Optional.empty(),
                        Set.of())) {
            Files.write(
                    folder.resolve("fleet"), List.of("node n1 " + nodeServer.address(), "worker " + worker.address()));
            String[] lines = {
                "serve.sweep.catalogue = " + small.catalogue(),
                "serve.sweep.fleet = " + folder.resolve("fleet"),
                "serve.sweep.key = " + folder.resolve("manager.key"),
                "sweep.manager.interval = 1s",
            };
            try (Daemon first = daemon(lines);
                    Daemon second = daemon(lines)) {
                await().atMost(PATIENCE)
                        .untilAsserted(() -> assertThat(node.lastCycle(new OwnerId("photos")))
                                .as("%s and %s", detail(first), detail(second))
                                .isGreaterThanOrEqualTo(3));
                await().atMost(PATIENCE).until(() -> first.isReady() && second.isReady());
                assertThat(List.of(detail(first), detail(second)))
                        .anySatisfy(detail -> assertThat(detail).startsWith("cycle "));
                assertThat(small.trashed()).isPositive();
                double cycles = counted(first) + counted(second);
                assertThat(cycles).isGreaterThanOrEqualTo(2);
            }
        }
    }

    private static double counted(Daemon daemon) {
        return daemon.registry().get("holdfast.sweep.cycles").counter().count();
    }

    @Test
    void aFleetWithoutAKeyIsRefused() {
        assertThatThrownBy(() -> daemon("serve.sweep.catalogue = x.csv", "serve.sweep.fleet = fleet")
                        .close())
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("serve.sweep.key is not");
    }

    @Test
    void aNodeThatCannotBeReachedIsToldOf() throws Exception {
        SmallNode small = SmallNode.make(folder, new OwnerId("photos"), 3, 1);
        SigningKey.generate("manager-1").write(folder.resolve("manager.key"));
        Files.write(folder.resolve("fleet"), List.of("node n1 127.0.0.1:1", "worker 127.0.0.1:1"));
        try (Daemon daemon = daemon(
                "serve.sweep.catalogue = " + small.catalogue(),
                "serve.sweep.fleet = " + folder.resolve("fleet"),
                "serve.sweep.key = " + folder.resolve("manager.key"))) {
            await().atMost(PATIENCE).until(() -> detail(daemon).contains("failed: n1"));
        }
    }
}
