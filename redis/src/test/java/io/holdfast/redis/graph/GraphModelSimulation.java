package io.holdfast.redis.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.graph.model.FaultyWire;
import io.holdfast.redis.graph.model.ModelRun;
import io.holdfast.redis.graph.model.ThreeKeySubject;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.Seeds;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Random operations of several processes over a faulty wire, against a model; see {@link ModelRun}. */
class GraphModelSimulation {

    private static final int OPERATIONS = 500;

    /** A server for each thread that runs seeds. */
    private static final Queue<RedisServer> SERVERS = new ConcurrentLinkedQueue<>();

    @AfterAll
    static void stopServers() {
        SERVERS.forEach(RedisServer::close);
    }

    private interface Body {
        void run(RedisServer server);
    }

    private static void withServer(Body body) {
        RedisServer idle = SERVERS.poll();
        RedisServer server = idle == null ? RedisServer.start() : idle;
        server.flush();
        body.run(server);
        SERVERS.add(server);
    }

    @Test
    void storeEqualsTheModelWhateverIsLostRepeatedLateOrKilled() {
        Seeds.of(200)
                .twoAtATime()
                .run((seed, random) -> withServer(server -> {
                    Addressing addressing = seed % 2 == 0 ? Addressing.TIME : Addressing.CONTENT;
                    try (FaultyWire wire = new FaultyWire(server.address(), random);
                            Jedis redis = server.client();
                            HoldfastSubject subject = new HoldfastSubject(
                                    wire, redis, server.uri().toString(), addressing)) {
                        new ModelRun(subject, wire, random, addressing == Addressing.CONTENT).run(OPERATIONS);
                    }
                }));
    }

    /** The control: a protocol that cannot tell a repeat from a new call does not get through the same test. */
    @Test
    void protocolOfThePeerFailsTheSameTest() {
        AtomicInteger failed = new AtomicInteger();
        for (long seed = 1; seed <= 10; seed++) {
            RandomGenerator random = Seeds.random(seed);
            withServer(server -> {
                try (FaultyWire wire = new FaultyWire(server.address(), random);
                        Jedis redis = server.client()) {
                    new ModelRun(new ThreeKeySubject(wire, redis), wire, random, false).run(OPERATIONS);
                } catch (AssertionError e) {
                    failed.incrementAndGet();
                }
            });
        }
        assertThat(failed).hasValue(10);
    }
}
