package io.holdfast.redis.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.graph.model.FaultyWire;
import io.holdfast.redis.graph.model.ModelRun;
import io.holdfast.redis.graph.model.ThreeKeySubject;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.Seeds;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Random operations of several processes over a faulty wire, against a model; see {@link ModelRun}. */
class GraphModelSimulation {

    private static final int OPERATIONS = 500;

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Test
    void storeEqualsTheModelWhateverIsLostRepeatedLateOrKilled() {
        Seeds.of(200).run((seed, random) -> {
            Addressing addressing = seed % 2 == 0 ? Addressing.TIME : Addressing.CONTENT;
            server.flush();
            try (FaultyWire wire = new FaultyWire(server.address(), random);
                    Jedis redis = server.client();
                    HoldfastSubject subject =
                            new HoldfastSubject(wire, redis, server.uri().toString(), addressing)) {
                new ModelRun(subject, wire, random, addressing == Addressing.CONTENT).run(OPERATIONS);
            }
        });
    }

    /** The control: a protocol that cannot tell a repeat from a new call does not get through the same test. */
    @Test
    void protocolOfThePeerFailsTheSameTest() {
        int failed = 0;
        for (long seed = 1; seed <= 10; seed++) {
            RandomGenerator random = Seeds.random(seed);
            server.flush();
            try (FaultyWire wire = new FaultyWire(server.address(), random);
                    Jedis redis = server.client()) {
                new ModelRun(new ThreeKeySubject(wire, redis), wire, random, false).run(OPERATIONS);
            } catch (AssertionError e) {
                failed++;
            }
        }
        assertThat(failed).isEqualTo(10);
    }
}
