package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisClusterException;
import redis.clients.jedis.exceptions.JedisMovedDataException;

/** One cluster for all; the last test breaks it. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
final class RedisClusterIT {

    private static RedisCluster cluster;

    @BeforeAll
    static void start() {
        cluster = RedisCluster.start();
    }

    @AfterAll
    static void close() {
        cluster.close();
    }

    @Test
    @Order(1)
    void threeMastersShareTheSlots() {
        assertThat(cluster.masterOf(0)).isSameAs(cluster.masters().getFirst());
        assertThat(cluster.masterOf(RedisCluster.SLOTS - 1))
                .isSameAs(cluster.masters().getLast());
        Set<RedisServer> used = new HashSet<>();
        try (var client = RedisClusterClient.create(new HashSet<>(cluster.addresses()))) {
            for (int i = 0; i < 100; i++) {
                client.set("spread:" + i, "yes");
                used.add(cluster.masterOf("spread:" + i));
            }
            assertThat(client.get("spread:99")).isEqualTo("yes");
        }
        assertThat(used).hasSize(3);
    }

    @Test
    @Order(2)
    void aMovedSlotIsElsewhereForClientsAndTakesItsKeysAlong() {
        int slot = RedisCluster.slot("moved");
        RedisServer old = cluster.masterOf(slot);
        RedisServer next = cluster.anotherThan(old);
        try (Jedis client = old.client()) {
            client.set("moved", "yes");

            cluster.moveSlot(slot, next);

            assertThatThrownBy(() -> client.get("moved")).isInstanceOf(JedisMovedDataException.class);
        }
        assertThat(cluster.masterOf(slot)).isSameAs(next);
        try (Jedis client = next.client()) {
            assertThat(client.get("moved")).isEqualTo("yes");
        }
    }

    @Test
    @Order(3)
    void aSlotOnItsWayAsksClientsOver() {
        int slot = RedisCluster.slot("{way}a");
        RedisServer old = cluster.masterOf(slot);
        RedisServer next = cluster.anotherThan(old);
        try (Jedis client = old.client()) {
            client.mset("{way}a", "1", "{way}b", "2", "{way}c", "3");

            var move = cluster.beginMove(slot, next);
            assertThat(client.get("{way}a")).isEqualTo("1");
            assertThat(move.moveKeys(1)).isEqualTo(1);

            assertThatThrownBy(() -> client.mget("{way}a", "{way}b", "{way}c")).hasMessageContaining("TRYAGAIN");
            assertThat(move.moveKeys(Integer.MAX_VALUE)).isEqualTo(2);
            assertThatThrownBy(() -> client.get("{way}a")).isInstanceOf(JedisAskDataException.class);

            move.finish();
            assertThatThrownBy(() -> client.get("{way}a")).isInstanceOf(JedisMovedDataException.class);
        }
    }

    @Test
    @Order(4)
    void aDeadMasterTakesTheClusterDownUntilItIsBack() {
        RedisServer dead = cluster.masterOf("left");
        RedisServer alive = cluster.anotherThan(dead);

        cluster.kill(dead);
        cluster.awaitState("fail");
        try (Jedis client = alive.client()) {
            assertThatThrownBy(() -> client.get("left")).isInstanceOf(JedisClusterException.class);
        }

        cluster.restart(dead);
        try (Jedis client = dead.client()) {
            assertThat(client.set("left", "yes")).isEqualTo("OK");
        }
    }
}
