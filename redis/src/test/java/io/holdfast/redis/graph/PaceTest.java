package io.holdfast.redis.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PaceTest {

    private static final long STEP_BYTES = 600;
    private static final Duration TOOK = Duration.ofNanos(700_000);

    private final Pace pace = new Pace(STEP_BYTES);
    private long heard = 12_345;
    private long now = -5; // a monotonic clock may be anywhere

    @Test
    void restsUntilItKnows() {
        assertThat(pace.listens()).isTrue();
        for (int i = 0; i < 8; i++) {
            assertThat(step(0)).isEqualTo(TOOK);
        }
        assertThat(step(0)).isZero();
    }

    @Test
    void asksNowAndThen() {
        int asked = 0;
        for (int i = 0; i < 800; i++) {
            asked += pace.listens() ? 1 : 0;
            step(0);
        }
        assertThat(asked).isEqualTo(100);
    }

    @Test
    void aFewCommandsOfOthersAreNobody() {
        steps(9, STEP_BYTES / 4);
        assertThat(step(STEP_BYTES / 4)).isZero();
        steps(16, STEP_BYTES / 4 + 1);
        assertThat(step(0)).isEqualTo(TOOK);
    }

    @Test
    void goesOnAtOnceWhenTheOthersHaveGone() {
        steps(20, 100_000);
        assertThat(step(100_000)).isEqualTo(TOOK);
        steps(16, 0);
        assertThat(step(0)).isZero();
    }

    @Test
    void whatWasHeardTooLongAgoSaysNothing() {
        steps(9, 0);
        assertThat(step(0)).isZero();
        now += TimeUnit.SECONDS.toNanos(1);
        steps(8, 0);
        assertThat(step(0)).isEqualTo(TOOK);
    }

    @Test
    void aServerThatDoesNotSayIsNotAlone() {
        for (int i = 0; i < 40; i++) {
            assertThat(pace.after(TOOK, -1, now)).isEqualTo(TOOK);
        }
    }

    @Test
    void aServerThatBeganAnewIsNotAlone() {
        steps(9, 0);
        heard = 0;
        steps(8, 0);
        assertThat(step(0)).isEqualTo(TOOK);
    }

    @Test
    void aRestIsBounded() {
        assertThat(pace.after(Duration.ofSeconds(3), 0, now)).isEqualTo(Duration.ofMillis(10));
    }

    private void steps(int number, long others) {
        for (int i = 0; i < number; i++) {
            step(others);
        }
    }

    /** A step, and what others send meanwhile. */
    private Duration step(long others) {
        heard += STEP_BYTES + others;
        now += TOOK.toNanos();
        return pace.after(TOOK, pace.listens() ? heard : -1, now);
    }
}
