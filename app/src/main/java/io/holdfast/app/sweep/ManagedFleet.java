package io.holdfast.app.sweep;

import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.manager.CycleStore;
import io.holdfast.sweep.manager.SweepManager;
import io.holdfast.sweep.manager.WorkerPort;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.ManagerService;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.Registrations;
import io.holdfast.sweep.rpc.RemoteNode;
import io.holdfast.sweep.rpc.RpcServer;
import io.holdfast.sweep.rpc.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A manager with the nodes and workers of a fleet file, and the port at which other workers register. */
public final class ManagedFleet implements AutoCloseable {

    private static final Set<RpcServer.Role> CALLERS =
            Set.of(RpcServer.Role.WORKER, RpcServer.Role.OPERATOR, RpcServer.Role.MANAGER);

    private final Peers peers;
    private final List<String> listed;
    private final Registrations registrations = new Registrations(Time.system());
    private final SweepManager manager;
    private final @Nullable RpcServer server;

    /**
     * @param ring whose keys prove who a worker is; needed for two builders without TLS
     * @param log where cycles are numbered, shared by all managers of this owner; stays the caller's to close
     * @param listen where workers register and people look; null for no port
     */
    public ManagedFleet(
            Path file,
            SigningKey key,
            Optional<TlsFiles> tls,
            Optional<KeyRing> ring,
            CycleStore log,
            Catalogue catalogue,
            Settings settings,
            @Nullable String listen)
            throws IOException {
        FleetFile fleet = FleetFile.read(file);
        String host = InetAddress.getLocalHost().getHostName() + "/"
                + ProcessHandle.current().pid();
        listed = fleet.workers();
        peers = new Peers(tls, ring);
        try {
            List<RemoteNode> nodes = new ArrayList<>();
            fleet.nodes().forEach((id, address) -> nodes.add(peers.node(id, address)));
            manager = SweepManager.of(catalogue, key, log, host)
                    .nodes(nodes)
                    .workers(this::workers)
                    .settings(settings);
            server = listen == null
                    ? null
                    : RpcServer.start(listen, new ManagerService(registrations, manager::status), tls, CALLERS);
        } catch (RuntimeException e) {
            // A port that is taken leaves no connections behind: a daemon tries it again and again.
            peers.close();
            throw e;
        }
    }

    private List<WorkerPort> workers() {
        List<WorkerPort> ports = new ArrayList<>();
        listed.forEach(address -> ports.add(peers.worker(address)));
        for (String address : registrations.addresses()) {
            if (!listed.contains(address)) {
                ports.add(peers.registered(address));
            }
        }
        return ports;
    }

    public SweepManager manager() {
        return manager;
    }

    /** Where workers register; empty without a port. */
    Optional<String> address() {
        return Optional.ofNullable(server).map(RpcServer::address);
    }

    /** Whether there is no worker but those that will register. */
    boolean isWithoutWorkers() {
        return listed.isEmpty() && registrations.addresses().isEmpty();
    }

    void awaitWorker() throws InterruptedException {
        registrations.await();
    }

    /** Until the port is closed. */
    void await() throws InterruptedException {
        if (server != null) {
            server.await();
        }
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
        }
        peers.close();
    }
}
