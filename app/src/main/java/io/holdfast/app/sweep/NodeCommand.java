package io.holdfast.app.sweep;

import io.holdfast.DutyRunner;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.NodeDuty;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.rpc.NodeService;
import io.holdfast.sweep.rpc.PieceService;
import io.holdfast.sweep.rpc.RpcServer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A storage node, until it is stopped. */
@Command(
        name = "node",
        description = {
            "Serve a storage node to managers and workers, until stopped. It acts on signatures of the keys alone.",
            "A cycle that was released when it stopped is finished first.",
            "With --pieces it also lets operators and clients put and read pieces; without TLS, whoever reaches the"
                    + " port.",
        },
        footer = {
            "  holdfast sweep node /srv/n1 --listen 10.0.0.11:7010 --keys keys",
            "  holdfast sweep node /srv/n1 --listen 10.0.0.11:7010 --keys keys --pieces",
            "  holdfast sweep node /srv/n9 --name n9 --listen 10.0.0.19:7010 --keys keys",
        })
public final class NodeCommand extends CliCommand {

    @Parameters(paramLabel = "FOLDER", description = "The folder of the storage node.")
    private Path folder = Path.of("");

    @Option(names = "--name", paramLabel = "NAME", description = "Makes a new node of this name in an empty folder.")
    private @Nullable String name;

    @Option(names = "--listen", paramLabel = "HOST:PORT", required = true, description = "Port 0 takes any.")
    private String listen = "";

    @Option(names = "--keys", paramLabel = "FILE", required = true, description = "Whose signatures count.")
    private Path keys = Path.of("");

    @Option(names = "--pieces", description = "Also serve pieces: put, get, renew, delete, list, why.")
    private boolean pieces;

    @Mixin
    private TlsOption tls = new TlsOption();

    @Override
    protected Answer run(Console console) throws Exception {
        String given = name;
        String id = given == null ? NodeBuilder.nameOf(folder).name() : given;
        try (StorageNode node = StorageNode.at(folder, id)
                        .settings(Settings.ofProcess())
                        .open();
                ExecutorService walks = Executors.newCachedThreadPool();
                DutyRunner looks = DutyRunner.start(1)) {
            looks.add(new NodeDuty(node));
            NodeAgent agent = new NodeAgent(node, FleetOption.ring(keys), walks, Time.system());
            agent.clean();
            agent.resume();
            List<RpcServer.Guarded> services = new ArrayList<>();
            services.add(new RpcServer.Guarded(
                    new NodeService(agent),
                    Set.of(RpcServer.Role.MANAGER, RpcServer.Role.WORKER, RpcServer.Role.OPERATOR)));
            if (pieces) {
                services.add(new RpcServer.Guarded(
                        new PieceService(node), Set.of(RpcServer.Role.OPERATOR, RpcServer.Role.CLIENT)));
            }
            try (RpcServer server = RpcServer.start(listen, services, tls.files())) {
                console.say("node " + id + " at " + server.address());
                server.await();
            }
        }
        return Answer.ok();
    }
}
