package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** A server at maxmemory opens no session, and keeps every session that is open and in use. */
class FullServerIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private Stage stage;

    @BeforeEach
    void open() {
        stage = new Stage(redis.server());
    }

    @AfterEach
    void close() {
        fill(false);
        stage.close();
    }

    private static void fill(boolean full) {
        try (Jedis jedis = redis.client()) {
            jedis.configSet("maxmemory", full ? "1" : "0");
        }
    }

    @Test
    void lostSessionIsRegainedBeforeItsGraceEnds() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        SessionHold hold = a.acquire("x");
        a.acquire("y");
        long epoch = hold.epoch();
        fill(true);
        a.stalled = true;
        stage.pass(Stage.LEASE.plusSeconds(2));
        assertThat(hold.isValid()).isFalse();
        a.stalled = false;
        stage.pass(Stage.GRACE.plus(Stage.LEASE));
        assertThat(b.closed).isEmpty();
        assertThat(a.closed).isEmpty();
        assertThat(hold.isValid()).isTrue();
        assertThat(hold.epoch()).isEqualTo(epoch);
    }

    @Test
    void sessionInItsGraceIsAcquiredAndANewOneIsRefused() {
        Actor a = stage.actor("a");
        Actor b = stage.actor("b");
        a.acquire("x").close();
        fill(true);
        SessionHold hold = b.acquire("x");
        stage.pass(Stage.GRACE.plusSeconds(5));
        assertThat(hold.isValid()).isTrue();
        assertThat(a.closed).isEmpty();
        assertThat(b.closed).isEmpty();
        assertThatThrownBy(() -> b.acquire("new"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        fill(false);
        stage.pass(Duration.ofSeconds(5));
        assertThat(b.acquire("new").isValid()).isTrue();
    }

    @Test
    void idleSessionIsTouchedAndANewOneIsRefused() {
        Actor a = stage.actor("a", builder -> builder.idle(Duration.ofSeconds(20)));
        long epoch = a.sessions.touch("x");
        fill(true);
        for (int i = 0; i < 3; i++) {
            stage.pass(Duration.ofSeconds(15));
            assertThat(a.sessions.touch("x")).isEqualTo(epoch);
        }
        assertThatThrownBy(() -> a.sessions.touch("new"))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        stage.pass(Duration.ofSeconds(22));
        assertThat(a.closedIds()).containsExactly("x");
    }
}
