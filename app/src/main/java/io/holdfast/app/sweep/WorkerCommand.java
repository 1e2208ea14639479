package io.holdfast.app.sweep;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.Time;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Bytes;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
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
        })
public final class WorkerCommand extends CliCommand {

    @Option(names = "--listen", paramLabel = "HOST:PORT", required = true, description = "Port 0 takes any.")
    private String listen = "";

    @Option(names = "--keys", paramLabel = "FILE", required = true, description = "Whose signatures count.")
    private Path keys = Path.of("");

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
            try (RpcServer server =
                    RpcServer.start(listen, new WorkerService(worker), tls.files(), Set.of(RpcServer.Role.MANAGER))) {
                console.say("worker at " + server.address());
                String to = manager;
                if (to == null) {
                    server.await();
                } else {
                    try (DutyRunner runner = DutyRunner.start(1)) {
                        runner.add(new RegisterDuty(peers, to, server.address(), console::note));
                        server.await();
                    }
                }
            }
        }
        return Answer.ok();
    }
}
