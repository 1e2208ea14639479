package io.holdfast.testkit;

import static io.holdfast.testkit.RedisServer.patiently;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.MigrateParams;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * A real Redis Cluster of three masters, each with a third of the slots, without replicas or with one each.
 *
 * <p>It takes two seconds to start, since a fresh master waits that long before it believes the others; share one among
 * the tests of a class. A slot can be moved at once ({@link #moveSlot}: clients get MOVED) or in steps ({@link
 * #beginMove}: until it is finished, clients get ASK for keys that have gone and TRYAGAIN for scripts that need both).
 */
public final class RedisCluster implements AutoCloseable {

    /** How many slots a Cluster has. */
    public static final int SLOTS = 16_384;

    private static final int MASTERS = 3;
    private static final int MIGRATE_MS_MAX = 20_000;

    private final List<RedisServer> masters = new ArrayList<>();
    private final List<RedisServer> replicas = new ArrayList<>();

    private RedisCluster(UnaryOperator<RedisServer.Setup> setup) {
        try {
            for (int i = 0; i < MASTERS; i++) {
                masters.add(setup.apply(RedisServer.setup())
                        .cluster()
                        .option("cluster-node-timeout", "1000")
                        .start());
            }
            join();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    public static RedisCluster start() {
        return with(setup -> setup);
    }

    /** A cluster whose servers are set up so: {@code setup -> setup.option("cluster-require-full-coverage", "no")}. */
    public static RedisCluster with(UnaryOperator<RedisServer.Setup> setup) {
        return new RedisCluster(setup);
    }

    /** A cluster with a replica for each master. It takes some seconds more. */
    public static RedisCluster startWithReplicas() {
        RedisCluster cluster = start();
        try {
            cluster.addReplicas();
            return cluster;
        } catch (RuntimeException | Error e) {
            cluster.close();
            throw e;
        }
    }

    /** The replica that a master was given at the start. */
    public RedisServer replicaOf(RedisServer master) {
        return replicas.get(masters.indexOf(master));
    }

    /** The servers; the first has the lowest slots. */
    public List<RedisServer> masters() {
        return List.copyOf(masters);
    }

    public List<HostAndPort> addresses() {
        return masters.stream().map(RedisServer::address).toList();
    }

    /** The slot of a key, by its {@code {tag}} if it has one. */
    public static int slot(String key) {
        return JedisClusterCRC16.getSlot(key);
    }

    /** Which server has the slot now, as the others know it too. */
    public RedisServer masterOf(int slot) {
        for (RedisServer master : masters) {
            if (master.isAlive() && slotsOf(master).contains(slot)) {
                return master;
            }
        }
        throw new IllegalStateException("no living master has slot " + slot);
    }

    public RedisServer masterOf(String key) {
        return masterOf(slot(key));
    }

    /** A master that does not have the slot. */
    public RedisServer anotherThan(RedisServer master) {
        return masters.stream()
                .filter(other -> other != master && other.isAlive())
                .findFirst()
                .orElseThrow();
    }

    /** Moves a slot with its keys; returns when all servers know. */
    public void moveSlot(int slot, RedisServer to) {
        SlotMove move = beginMove(slot, to);
        move.moveKeys(Integer.MAX_VALUE);
        move.finish();
    }

    /** Begins to move a slot: from now on its server asks clients over for keys that it does not have. */
    public SlotMove beginMove(int slot, RedisServer to) {
        RedisServer from = masterOf(slot);
        if (from == to) {
            throw new IllegalArgumentException("slot " + slot + " is there already");
        }
        try (Jedis source = from.client();
                Jedis target = to.client()) {
            target.clusterSetSlotImporting(slot, source.clusterMyId());
            source.clusterSetSlotMigrating(slot, target.clusterMyId());
        }
        return new SlotMove(slot, from, to);
    }

    /** A slot on its way. */
    public final class SlotMove {

        private final int slot;
        private final RedisServer from;
        private final RedisServer to;

        private SlotMove(int slot, RedisServer from, RedisServer to) {
            this.slot = slot;
            this.from = from;
            this.to = to;
        }

        /** Moves at most this many of the slot's keys; returns how many it were. */
        public int moveKeys(int most) {
            int moved = 0;
            try (Jedis source = from.client()) {
                while (moved < most) {
                    List<byte[]> keys = source.clusterGetKeysInSlotBinary(slot, Math.min(100, most - moved));
                    if (keys.isEmpty()) {
                        break;
                    }
                    source.migrate(
                            "127.0.0.1", to.port(), MIGRATE_MS_MAX, migrateParams(), keys.toArray(byte[][]::new));
                    moved += keys.size();
                }
            }
            return moved;
        }

        /** Gives the slot to its new server; returns when all servers know. */
        public void finish() {
            String id = idOf(to);
            for (RedisServer server : List.of(to, from)) {
                try (Jedis client = server.client()) {
                    client.clusterSetSlotNode(slot, id);
                }
            }
            patiently("all know where slot " + slot + " is")
                    .until(() -> masters.stream()
                            .filter(RedisServer::isAlive)
                            .allMatch(server -> id.equals(whoServes(server, slot))));
        }

        private MigrateParams migrateParams() {
            MigrateParams params = MigrateParams.migrateParams();
            String password = to.clientConfig().getPassword();
            return password == null ? params : params.auth(password);
        }
    }

    /** Kills a master. With the default of full coverage all others then refuse to serve, within about two seconds. */
    public void kill(RedisServer master) {
        master.kill();
    }

    /** Restarts a dead master with the slots it had, and waits until the cluster is whole. */
    public void restart(RedisServer master) {
        master.restart();
        awaitState("ok");
    }

    /** Waits until every living server says that the cluster is {@code ok} or {@code fail}. */
    public void awaitState(String state) {
        patiently("every server says that the cluster is " + state)
                .until(() -> masters.stream()
                        .filter(RedisServer::isAlive)
                        .allMatch(server -> state.equals(stateSeenBy(server))));
    }

    @Override
    public void close() {
        replicas.forEach(RedisServer::close);
        masters.forEach(RedisServer::close);
    }

    private void addReplicas() {
        for (RedisServer master : masters) {
            RedisServer replica = RedisServer.setup()
                    .cluster()
                    .option("cluster-node-timeout", "1000")
                    .option("repl-ping-replica-period", "1")
                    .start();
            replicas.add(replica);
            try (Jedis client = replica.client()) {
                client.clusterMeet("127.0.0.1", master.port());
            }
        }
        for (RedisServer master : masters) {
            String id = idOf(master);
            try (Jedis client = replicaOf(master).client()) {
                patiently("the replica knows its master")
                        .until(() -> client.clusterNodes()
                                .lines()
                                .anyMatch(line -> line.startsWith(id + " ") && !line.contains("handshake")));
                client.clusterReplicate(id);
            }
        }
        for (RedisServer master : masters) {
            awaitInSync(master);
        }
    }

    /** Waits until the replica of a master has all that the master has acknowledged so far. */
    public void awaitInSync(RedisServer master) {
        RedisServer replica = replicaOf(master);
        patiently("the replica has it all").until(() -> {
            Map<String, String> seen = replica.info("replication");
            String written = master.info("replication").get("master_repl_offset");
            return "up".equals(seen.get("master_link_status"))
                    && written != null
                    && written.equals(replica.info("replication").get("slave_repl_offset"));
        });
    }

    private void join() {
        for (int i = 0; i < MASTERS; i++) {
            try (Jedis client = masters.get(i).client()) {
                client.clusterSetConfigEpoch(i + 1L);
                client.clusterAddSlotsRange(SLOTS * i / MASTERS, SLOTS * (i + 1) / MASTERS - 1);
                if (i > 0) {
                    client.clusterMeet("127.0.0.1", masters.getFirst().port());
                }
            }
        }
        awaitState("ok");
    }

    private static @Nullable String stateSeenBy(RedisServer server) {
        try (Jedis client = server.client()) {
            return RedisServer.fields(client.clusterInfo()).get("cluster_state");
        }
    }

    private static String idOf(RedisServer server) {
        try (Jedis client = server.client()) {
            return client.clusterMyId();
        }
    }

    /** The slots that a server says are its own. */
    private static SlotSet slotsOf(RedisServer server) {
        try (Jedis client = server.client()) {
            return client.clusterNodes()
                    .lines()
                    .filter(line -> line.contains("myself"))
                    .map(SlotSet::ofNodesLine)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** The id of the server that has the slot, as this one sees it. */
    private static @Nullable String whoServes(RedisServer asked, int slot) {
        try (Jedis client = asked.client()) {
            return client.clusterNodes()
                    .lines()
                    .filter(line -> SlotSet.ofNodesLine(line).contains(slot))
                    .map(line -> line.substring(0, line.indexOf(' ')))
                    .findFirst()
                    .orElse(null);
        }
    }

    /** Slots as a line of CLUSTER NODES tells them: {@code 0-5460 7000 [93->-id]}. */
    private record SlotSet(List<int[]> ranges) {

        private static final int FIELDS_BEFORE = 8;

        static SlotSet ofNodesLine(String line) {
            List<int[]> ranges = new ArrayList<>();
            String[] fields = line.split(" ", -1);
            for (int i = FIELDS_BEFORE; i < fields.length; i++) {
                if (!fields[i].isEmpty() && !fields[i].startsWith("[")) {
                    String[] ends = fields[i].split("-", 2);
                    ranges.add(new int[] {Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1])});
                }
            }
            return new SlotSet(ranges);
        }

        boolean contains(int slot) {
            return ranges.stream().anyMatch(range -> range[0] <= slot && slot <= range[1]);
        }
    }
}
