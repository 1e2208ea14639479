package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.sweep.manager.CycleLog;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two managers on different hosts share the numbers of cycles through Redis. */
class RedisCycleStoreIT {

    private static final OwnerId OWNER = new OwnerId("photos");

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    @Test
    void oneManagerAtATimeHasTheCycle() throws IOException {
        Settings settings = Settings.none();
        settings.set(LinkSettings.URI, REDIS.uri().toString());
        try (RedisLink link = RedisLink.connect(settings)) {
            RedisCycleStore store = new RedisCycleStore(link);
            assertThat(store.read(OWNER)).isEmpty();
            assertThat(store.compareAndSet(OWNER, Optional.of("something"), "else"))
                    .isFalse();
            ManualTime time = new ManualTime();
            CycleLog one = new CycleLog(store, time);
            CycleLog.Ticket ticket = one.begin(OWNER, "one", 5, Duration.ofMinutes(1));
            assertThat(ticket.cycle()).isEqualTo(5);
            CycleLog two = new CycleLog(new RedisCycleStore(link), time);
            assertThatThrownBy(() -> two.begin(OWNER, "two", 1, Duration.ofMinutes(1)))
                    .hasMessageContaining("run by one");
            time.advance(Duration.ofMinutes(2));
            assertThat(two.begin(OWNER, "two", 1, Duration.ofMinutes(1)).cycle())
                    .isEqualTo(6);
            assertThatThrownBy(() -> one.renew(ticket, Duration.ofMinutes(1))).hasMessageContaining("has lost cycle 5");
            one.end(ticket, "too late");
            assertThat(two.state(OWNER).holder()).isEqualTo("two");
        }
    }
}
