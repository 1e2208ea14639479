package io.holdfast.redis.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.Holdfast;
import io.holdfast.testkit.LogLines;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class NewSetIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    @Test
    void newSetSaysForHowLongNothingEndsAndAKnownOneSaysNothing() {
        try (LogLines log = LogLines.of(Holds.class);
                Holdfast holdfast = Holdfast.connect(redis.uri().toString())) {
            for (int i = 0; i < 2; i++) {
                holdfast.sessions("rooms").lease(Duration.ofSeconds(1)).start().close();
            }
            assertThat(log.all())
                    .singleElement()
                    .asString()
                    .contains("sessions 'rooms' is new at this server")
                    .contains("for 500 ms (quiet time)");
        }
    }
}
