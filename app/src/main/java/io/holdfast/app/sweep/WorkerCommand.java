package io.holdfast.app.sweep;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.Time;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Bytes;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.RegisterDuty;
import io.holdfast.sweep.rpc.RpcServer;
import io.holdfast.sweep.rpc.WorkerService;
import io.holdfast.sweep.worker.SweepWorker;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A worker, until it is stopped. */
@Command(
        name = "worker",
        description = {
            "Build live filters for a manager, until stopped.",
            "What it has is in memory alone: it may be killed at any time, and its nodes are built elsewhere.",
        },
        footer = {
            "  holdfast sweep worker --listen 10.0.0.21:7001 --keys keys --memory 4GiB",
            "  holdfast sweep worker --listen 10.0.0.21:7001 --keys keys --manager 10.0.0.1:7000",
            "  holdfast sweep worker --listen 0.0.0.0:7001 --advertise w21.example:7001 --keys keys --key worker.key",
        })
public final class WorkerCommand extends CliCommand {

    @Option(names = "--listen", paramLabel = "HOST:PORT", required = true, description = "Port 0 takes any.")
    private String listen = "";

    @Option(names = "--keys", paramLabel = "FILE", required = true, description = "Whose signatures count.")
    private Path keys = Path.of("");

    @Option(
            names = "--key",
            paramLabel = "FILE",
            description = "A key of role worker, by which it proves who it is: for two builders without TLS.")
    private @Nullable Path key;

    @Option(
            names = "--advertise",
            paramLabel = "HOST:PORT",
            description = "Where managers reach it, if that is not where it listens.")
    private @Nullable String advertise;

    @Option(
            names = "--memory",
            converter = Bytes.class,
            paramLabel = "SIZE",
            description = "For filters: 5 bits a piece at 10 %% false positives. Default 1GiB.")
    private long memory = 1L << 30;

    @Option(names = "--manager", paramLabel = "HOST:PORT", description = "Registers there, again and again.")
    private @Nullable String manager;

    @Mixin
    private TlsOption tls = new TlsOption();

    @Override
    protected Answer run(Console console) throws Exception {
        HolderId me = HolderId.newIncarnation("worker");
        try (Peers peers = new Peers(tls.files())) {
            SweepWorker worker =
                    new SweepWorker(me.incarnation(), memory, FleetOption.ring(keys), peers::retain, Time.system());
            Path own = key;
            WorkerService service = new WorkerService(worker, own == null ? null : SigningKey.read(own));
            try (RpcServer server = RpcServer.start(listen, service, tls.files(), Set.of(RpcServer.Role.MANAGER))) {
                String reached = reachedAt(server);
                service.reachedAt(reached);
                console.say("worker at " + reached);
                String to = manager;
                if (to == null) {
                    server.await();
                } else {
                    try (DutyRunner runner = DutyRunner.start(1)) {
                        runner.add(new RegisterDuty(peers, to, reached, console::note));
                        server.await();
                    }
                }
            }
        }
        return Answer.ok();
    }

    /** An address that stands for all interfaces reaches nothing from another host. */
    private String reachedAt(RpcServer server) {
        String given = advertise;
        if (given != null) {
            return given;
        }
        if (manager != null && server.address().matches("(0\\.0\\.0\\.0|\\[?::]?):\\d+")) {
            throw HoldfastException.misuse(
                    "a worker that registers as " + server.address(),
                    "add --advertise HOST:PORT, where managers reach it");
        }
        return server.address();
    }
}
