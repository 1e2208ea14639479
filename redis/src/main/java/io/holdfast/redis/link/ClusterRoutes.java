package io.holdfast.redis.link;

import io.holdfast.redis.link.RedisLink.Call;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * Which calls of a batch share a server of a cluster, as far as is known. The pipeline of Jedis for clusters is not used: if one
 * server cannot be reached it drops the answers of all, after having sent what was for the others. Here each server has a
 * pipeline of its own, and what happens to one happens to nobody else.
 *
 * <p>What is known may be old. Then a server answers that the slot has moved, or does not answer at all, and where things are is
 * asked anew.
 */
final class ClusterRoutes {

    private final RedisClusterClient cluster;
    /** Slot to server. */
    private final Map<Integer, HostAndPort> known = new ConcurrentHashMap<>();

    private final AtomicBoolean asking = new AtomicBoolean();

    ClusterRoutes(RedisClusterClient cluster) {
        this.cluster = cluster;
    }

    /** Sends to all servers at the same time, each by a thread of its own, and waits for all: {@code send} gets the places of calls. */
    void forEachServer(List<Call> calls, Consumer<List<Integer>> send) {
        try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
            byServer(calls).forEach(places -> each.execute(() -> send.accept(places)));
        }
    }

    /** The places of calls that go together, all of them once. */
    private Collection<List<Integer>> byServer(List<Call> calls) {
        Map<Object, List<Integer>> groups = new LinkedHashMap<>();
        for (int i = 0; i < calls.size(); i++) {
            Integer slot = slot(calls.get(i));
            HostAndPort server = known.get(slot);
            groups.computeIfAbsent(server == null ? slot : server, group -> new ArrayList<>())
                    .add(i);
        }
        return groups.values();
    }

    /** A pipeline to the server that has the slot of the key. */
    Pipeline to(byte[] key) {
        int slot = JedisClusterCRC16.getSlot(key);
        Connection connection = cluster.getConnectionFromSlot(slot);
        known.put(slot, connection.getHostAndPort());
        return new Pipeline(connection, true);
    }

    /** The slot of the call has moved. */
    void forget(Call call) {
        known.remove(slot(call));
    }

    /** Something of these calls did not arrive: where they belong is looked up again, while nobody waits for it. */
    void doubt(List<Call> calls) {
        calls.forEach(this::forget);
        if (asking.compareAndSet(false, true)) {
            Thread.ofVirtual().name("holdfast-cluster").start(() -> {
                try {
                    cluster.refreshClusterTopology();
                } catch (JedisException | IllegalStateException e) {
                    // nobody answers, or the client is closed; the next call that fails asks again
                } finally {
                    asking.set(false);
                }
            });
        }
    }

    private static int slot(Call call) {
        return JedisClusterCRC16.getSlot(call.keys().getFirst());
    }
}
