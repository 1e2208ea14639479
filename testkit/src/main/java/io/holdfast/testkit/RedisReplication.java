package io.holdfast.testkit;

import static io.holdfast.testkit.RedisServer.patiently;

import io.holdfast.embedded.ScratchFolder;
import io.holdfast.embedded.ServerLaunch;
import io.holdfast.embedded.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A primary with a replica, and a Sentinel that watches them if wanted.
 *
 * <p>Replication is asynchronous, so a fail-over may lose what the primary had acknowledged. That is made certain by
 * {@link #cutReplica()}: what is written after it is lost in the next {@link #failover()}.
 */
public final class RedisReplication implements AutoCloseable {

    /** The name under which the Sentinel knows the primary. */
    public static final String NAME = "holdfast";

    /** Nothing listens there: a replica that is told to follow it follows nobody and keeps what it has. */
    private static final int NOWHERE = 1;

    private RedisServer primary;
    private RedisServer replica;
    private @Nullable Sentinel sentinel;

    private RedisReplication() {
        primary = server();
        replica = server();
        follow(replica, primary.port());
        awaitInSync();
    }

    public static RedisReplication start() {
        return new RedisReplication();
    }

    public static RedisReplication startWithSentinel() {
        var replication = new RedisReplication();
        try {
            replication.sentinel = new Sentinel(replication.primary.port());
            replication.awaitSentinelKnows(replication.primary, replication.replica);
            return replication;
        } catch (RuntimeException | Error e) {
            replication.close();
            throw e;
        }
    }

    /** The server that takes writes. */
    public RedisServer primary() {
        return primary;
    }

    /** The server that follows, or the dead or demoted one after a fail-over. */
    public RedisServer replica() {
        return replica;
    }

    /** Where the Sentinel listens. */
    public HostAndPort sentinelAddress() {
        return new HostAndPort("127.0.0.1", sentinel().port());
    }

    /**
     * Waits until the replica has everything that the primary has acknowledged so far, and has told the primary so: a server
     * that has just sent all its data sends nothing more until the replica speaks up, which may take a second.
     */
    public void awaitInSync() {
        try (Jedis client = primary.client()) {
            client.publish("testkit", "something that replicas get and nobody keeps");
            patiently("the replica has it all").until(() -> client.waitReplicas(1, 100) >= 1);
        }
    }

    /**
     * Cuts the replica off: it keeps what it has and gets nothing more, which {@link #failover()} then makes final. A
     * Sentinel would join it again after half a minute.
     */
    public void cutReplica() {
        awaitInSync();
        follow(replica, NOWHERE);
    }

    /** Undoes {@link #cutReplica()}. */
    public void joinReplica() {
        follow(replica, primary.port());
        awaitInSync();
    }

    /**
     * Kills the primary and makes the replica the new one: by the Sentinel if there is one, which then has noticed by
     * itself, otherwise by hand. Returns when the new primary takes writes; {@link #replica()} is then the dead one.
     */
    public void failover() {
        primary.kill();
        if (sentinel == null) {
            try (Jedis client = replica.client()) {
                client.replicaofNoOne();
            }
        }
        RedisServer promoted = replica;
        replica = primary;
        primary = promoted;
        awaitPrimary(promoted);
    }

    /**
     * Lets the two change places while both live: the demoted one follows the new primary and loses what it alone had.
     * By the Sentinel if there is one, otherwise by hand, abruptly: clients of the old primary get READONLY.
     */
    public void switchOver() {
        RedisServer promoted = replica;
        if (sentinel == null) {
            try (Jedis client = promoted.client()) {
                client.replicaofNoOne();
            }
            follow(primary, promoted.port());
        } else {
            sentinel.beginFailover();
        }
        replica = primary;
        primary = promoted;
        awaitPrimary(promoted);
        awaitInSync();
    }

    /** Brings the dead server of {@link #failover()} back, empty, as a replica of the new primary. */
    public void restartReplica() {
        replica.restartEmpty();
        follow(replica, primary.port());
        awaitInSync();
        if (sentinel != null) {
            awaitSentinelKnows(primary, replica);
        }
    }

    @Override
    public void close() {
        if (sentinel != null) {
            sentinel.close();
        }
        replica.close();
        primary.close();
    }

    private Sentinel sentinel() {
        if (sentinel == null) {
            throw new IllegalStateException("there is no Sentinel: use startWithSentinel()");
        }
        return sentinel;
    }

    private void awaitPrimary(RedisServer promoted) {
        patiently("the new primary takes writes")
                .until(() -> "master".equals(promoted.info("replication").get("role")));
        if (sentinel != null) {
            Sentinel asked = sentinel;
            patiently("the Sentinel names the new primary").until(() -> asked.isContentWith(promoted));
        }
    }

    private void awaitSentinelKnows(RedisServer main, RedisServer follower) {
        patiently("the Sentinel knows both servers").until(() -> {
            try (Jedis client = sentinel().client()) {
                List<Map<String, String>> followers = client.sentinelReplicas(NAME);
                return client.sentinelGetMasterAddrByName(NAME).contains(String.valueOf(main.port()))
                        && followers.stream()
                                .anyMatch(
                                        each -> String.valueOf(follower.port()).equals(each.get("port"))
                                                && "slave".equals(each.get("flags"))
                                                && "ok".equals(each.get("master-link-status")));
            }
        });
    }

    private static RedisServer server() {
        return RedisServer.setup()
                .option("repl-diskless-sync-delay", "0")
                .option("repl-ping-replica-period", "1")
                .start();
    }

    private static void follow(RedisServer follower, int port) {
        try (Jedis client = follower.client()) {
            client.replicaof("127.0.0.1", port);
        }
    }

    /** The same executable in its other role. */
    private static final class Sentinel implements AutoCloseable {

        private final Path folder = RedisServer.scratchFolder();
        private final ServerProcess process;

        private Sentinel(int primaryPort) {
            Path configuration = folder.resolve("sentinel.conf");
            try {
                Files.writeString(configuration, """
                    sentinel monitor %1$s 127.0.0.1 %2$d 1
                    sentinel down-after-milliseconds %1$s 500
                    sentinel failover-timeout %1$s 30000
                    """.formatted(NAME, primaryPort));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            process = ServerLaunch.server()
                    .scratchFolder(folder)
                    .sentinel(configuration)
                    .start();
            try (Jedis client = client()) {
                // Otherwise it looks after its servers every ten seconds and corrects a wrong one after eight.
                client.sendCommand(Protocol.Command.SENTINEL, "DEBUG", "INFO-PERIOD", "1000", "PUBLISH-PERIOD", "100");
            }
        }

        int port() {
            return process.port();
        }

        Jedis client() {
            return new Jedis(
                    new HostAndPort("127.0.0.1", port()),
                    DefaultJedisClientConfig.builder().serverDefaultProtocol().build());
        }

        /** Begins as soon as the Sentinel has fresh news of the replica; before, it finds no good one. */
        void beginFailover() {
            patiently("the Sentinel begins a fail-over")
                    .ignoreExceptionsInstanceOf(JedisException.class)
                    .until(() -> {
                        try (Jedis client = client()) {
                            return "OK".equals(client.sentinelFailover(NAME));
                        }
                    });
        }

        boolean isContentWith(RedisServer primary) {
            try (Jedis client = client()) {
                return client.sentinelGetMasterAddrByName(NAME).contains(String.valueOf(primary.port()))
                        && "master".equals(client.sentinelMaster(NAME).get("flags"));
            }
        }

        @Override
        public void close() {
            process.kill();
            ScratchFolder.remove(folder);
        }
    }
}
