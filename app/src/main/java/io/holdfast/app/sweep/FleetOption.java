package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.sweep.manager.CycleStore;
import io.holdfast.sweep.manager.FileCycleStore;
import io.holdfast.sweep.manager.Orders;
import io.holdfast.sweep.node.Pieces;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.Peers;
import io.holdfast.sweep.rpc.RemoteNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code --fleet} and what belongs to it: nodes and workers that are other processes. */
public final class FleetOption implements AutoCloseable {

    /** How many nodes a command asks at the same time. */
    static final int CALLERS = 64;

    @Option(
            names = "--fleet",
            paramLabel = "FILE",
            order = 70,
            description = "The processes of a fleet: a file with lines 'node NAME HOST:PORT' and 'worker HOST:PORT'.")
    private @Nullable Path file;

    @Option(
            names = "--key",
            paramLabel = "FILE",
            order = 71,
            description = "For a fleet: the signing key (holdfast sweep keys new).")
    private @Nullable Path key;

    @Option(
            names = "--keys",
            paramLabel = "FILE",
            order = 72,
            description = "For a fleet with two builders and without TLS: the ring, whose keys prove who a worker is.")
    private @Nullable Path keys;

    @Mixin
    private TlsOption tls = new TlsOption();

    private @Nullable Peers peers;
    private @Nullable RedisLink link;

    boolean isGiven() {
        return file != null;
    }

    Path file() {
        if (file == null) {
            throw HoldfastException.misuse("neither --nodes nor --fleet", "name the nodes");
        }
        return file;
    }

    Peers peers() {
        Peers opened = peers == null ? new Peers(tls.files()) : peers;
        peers = opened;
        return opened;
    }

    TlsOption tls() {
        return tls;
    }

    List<RemoteNode> nodes() throws IOException {
        List<RemoteNode> nodes = new ArrayList<>();
        FleetFile.read(file()).nodes().forEach((id, address) -> nodes.add(peers().node(id, address)));
        return nodes;
    }

    /** A node of the fleet that serves its pieces. */
    Pieces pieces(String name) throws IOException {
        NodeId id = new NodeId(name);
        Map<NodeId, String> known = FleetFile.read(file()).nodes();
        String address = known.get(id);
        if (address == null) {
            throw new HoldfastException(
                    HoldfastException.Category.GONE,
                    "node " + name + " is none of " + known.keySet(),
                    "name a node of the fleet file",
                    null);
        }
        return peers().pieces(id, address);
    }

    Optional<KeyRing> ring() throws IOException {
        Path file = keys;
        return file == null ? Optional.empty() : Optional.of(ring(file));
    }

    SigningKey key() throws IOException {
        if (key == null) {
            throw HoldfastException.misuse("a fleet without --key", "name the file of a signing key");
        }
        return SigningKey.read(key);
    }

    Orders orders() throws IOException {
        return new Orders(key(), Time.system());
    }

    /** A folder, or a Redis for managers on several hosts. */
    CycleStore log(String where) throws IOException {
        if (!where.startsWith("redis")) {
            return new FileCycleStore(Path.of(where));
        }
        Settings settings = Settings.ofProcess();
        settings.set(LinkSettings.URI, where);
        RedisLink opened = RedisLink.connect(settings);
        link = opened;
        return new RedisCycleStore(opened);
    }

    /** A ring that is there. A worker or node with another one would start, and believe nobody. */
    static KeyRing ring(Path keys) throws IOException {
        if (!Files.isRegularFile(keys)) {
            throw new HoldfastException(
                    HoldfastException.Category.GONE,
                    "there is no key ring " + keys,
                    "check the path; 'holdfast sweep keys new' makes one",
                    null);
        }
        return KeyRing.at(keys);
    }

    /** A log that is there, to look into. */
    CycleStore existingLog(String where) throws IOException {
        if (!where.startsWith("redis") && !Files.isDirectory(Path.of(where))) {
            throw new HoldfastException(
                    HoldfastException.Category.GONE,
                    "there is no log of cycles " + where,
                    "give the folder or the Redis that the managers have as --log",
                    null);
        }
        return log(where);
    }

    @Override
    public void close() {
        if (peers != null) {
            peers.close();
        }
        if (link != null) {
            link.close();
        }
    }
}
