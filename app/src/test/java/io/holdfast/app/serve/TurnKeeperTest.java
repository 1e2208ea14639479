package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class TurnKeeperTest {

    private static final Duration LEASE = Duration.ofMinutes(1);

    private final ManualTime time = new ManualTime();
    private int asked;
    private int failures;
    private final TurnKeeper keeper = new TurnKeeper(this::renew, LEASE, time);

    private boolean renew() {
        asked++;
        if (failures-- > 0) {
            time.advance(Duration.ofSeconds(2));
            throw new HoldfastException(Category.RETRY, "no answer within the time-out");
        }
        return true;
    }

    @Test
    void renewsThreeTimesALease() {
        for (int second = 0; second < 60; second++) {
            keeper.keep();
            time.advance(Duration.ofSeconds(1));
        }
        assertThat(asked).isEqualTo(2); // at 20 and 40 seconds
    }

    @Test
    void renewalThatIsNotAnsweredIsTriedAgainSoonAndEndsNothing() {
        failures = 1;
        time.advance(LEASE.dividedBy(3));
        keeper.keep();
        keeper.keep();
        assertThat(asked).isOne();
        time.advance(LEASE.dividedBy(12));
        keeper.keep();
        assertThat(asked).isEqualTo(2);
    }

    @Test
    void beforeItIsAnsweredNobodySaysThatTheTurnIsOurs() {
        failures = 2;
        assertThat(keeper.isOurs()).isTrue();
        assertThat(asked).isEqualTo(3);
        failures = Integer.MAX_VALUE;
        assertThatThrownBy(keeper::isOurs).isInstanceOf(HoldfastException.class);
    }
}
