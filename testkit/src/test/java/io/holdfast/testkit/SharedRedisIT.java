package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

final class SharedRedisIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.with(setup -> setup.maxmemory("50mb"));

    private static int port;

    @BeforeAll
    static void forget() {
        port = 0;
    }

    @BeforeEach
    void everyTestFindsTheSameServerAliveEmptyAndAsItWasSetUp() {
        port = port == 0 ? redis.server().port() : port;
        assertThat(redis.server().port()).isEqualTo(port);
        assertThat(redis.server().info("memory")).containsEntry("maxmemory", "52428800");
        try (Jedis client = redis.client()) {
            assertThat(client.dbSize()).isZero();
        }
    }

    @AfterEach
    void leaveSomethingBehind() {
        if (redis.server().isAlive() && !Signals.isStalled(redis.server().pid())) {
            try (Jedis client = new Jedis(redis.uri())) {
                client.set("left", "behind");
            }
        }
    }

    @RepeatedTest(2)
    void whateverATestWrites() {}

    @RepeatedTest(2)
    void whateverATestConfigures() {
        redis.server().maxmemory("100mb");
    }

    @RepeatedTest(2)
    void whomeverATestKills() {
        redis.server().kill();
    }

    @RepeatedTest(2)
    void whomeverATestStalls() {
        redis.server().stall();
    }

    @Nested
    final class InANestedClass {

        @Test
        void theServerIsTheSame() {
            assertThat(redis.server().port()).isEqualTo(port);
        }
    }
}
