package io.holdfast.redis.session;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What a set of sessions was configured with, checked. */
record SessionRules(
        Duration grace,
        @Nullable Duration idle,
        Duration lease,
        Duration heartbeat,
        int shards,
        Duration claim,
        Duration handlerLimit,
        int attempts,
        Duration retryPause,
        int closers,
        Duration closingWait,
        long dataLimit,
        boolean overlapEpochs,
        boolean tends) {

    /** Where settings get their values from. */
    interface Values {
        <T> T get(Setting<T> setting);
    }

    /** A lease must survive one heartbeat that is lost. */
    private static final int BEATS_IN_A_LEASE = 3;

    static SessionRules of(Values settings, @Nullable Duration idle, boolean overlapEpochs, boolean tends) {
        Duration lease = settings.get(SessionSettings.LEASE);
        Duration asked = settings.get(SessionSettings.HEARTBEAT);
        Duration heartbeat = asked.isZero() ? lease.dividedBy(BEATS_IN_A_LEASE) : asked;
        if (lease.compareTo(heartbeat.multipliedBy(BEATS_IN_A_LEASE)) < 0) {
            throw HoldfastException.misuse(
                    "setting " + SessionSettings.LEASE + " = '" + Setting.text(lease) + "' is too short for "
                            + SessionSettings.HEARTBEAT + " = '" + Setting.text(heartbeat)
                            + "': a lease lasts at least " + BEATS_IN_A_LEASE + " heartbeats",
                    "raise the lease to " + Setting.text(heartbeat.multipliedBy(BEATS_IN_A_LEASE))
                            + " or more, or lower the heartbeat");
        }
        return new SessionRules(
                settings.get(SessionSettings.GRACE),
                idle,
                lease,
                heartbeat,
                settings.get(SessionSettings.SHARDS),
                settings.get(SessionSettings.CLAIM),
                settings.get(SessionSettings.HANDLER_LIMIT),
                settings.get(SessionSettings.ATTEMPTS),
                settings.get(SessionSettings.RETRY_PAUSE),
                settings.get(SessionSettings.CLOSERS),
                settings.get(SessionSettings.CLOSING_WAIT),
                settings.get(SessionSettings.DATA_LIMIT),
                overlapEpochs,
                tends);
    }
}
