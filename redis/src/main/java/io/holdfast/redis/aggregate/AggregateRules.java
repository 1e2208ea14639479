package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.redis.hold.HoldRules;
import java.time.Duration;
import java.util.List;

/** What a set of aggregates was configured with, checked. */
record AggregateRules(
        Duration softWindow,
        Duration hardWindow,
        Duration publishInterval,
        int table,
        int pending,
        Duration addWait,
        Duration lease,
        int shards,
        Duration claim,
        Duration flushLimit,
        int attempts,
        Duration retryPause,
        int flushers,
        long partLimit,
        long waitingLimit,
        Duration redeliveryWindow,
        int ledgerCapacity,
        boolean tends) {

    /** Where settings get their values from. */
    interface Values {
        <T> T get(Setting<T> setting);
    }

    static AggregateRules of(Values settings, int ledgerCapacity, boolean tends) {
        Duration soft = settings.get(AggregateSettings.SOFT_WINDOW);
        Duration hard = settings.get(AggregateSettings.HARD_WINDOW);
        if (hard.compareTo(soft) < 0) {
            throw HoldfastException.misuse(
                    "setting " + AggregateSettings.HARD_WINDOW + " = '" + Setting.text(hard) + "' is shorter than "
                            + AggregateSettings.SOFT_WINDOW + " = '" + Setting.text(soft) + "'",
                    "raise the hard window to " + Setting.text(soft) + " or more, or lower the soft one");
        }
        return new AggregateRules(
                soft,
                hard,
                settings.get(AggregateSettings.PUBLISH_INTERVAL),
                settings.get(AggregateSettings.TABLE),
                settings.get(AggregateSettings.PENDING),
                settings.get(AggregateSettings.ADD_WAIT),
                settings.get(AggregateSettings.LEASE),
                settings.get(AggregateSettings.SHARDS),
                settings.get(AggregateSettings.CLAIM),
                settings.get(AggregateSettings.FLUSH_LIMIT),
                settings.get(AggregateSettings.ATTEMPTS),
                settings.get(AggregateSettings.RETRY_PAUSE),
                settings.get(AggregateSettings.FLUSHERS),
                settings.get(AggregateSettings.PART_LIMIT),
                settings.get(AggregateSettings.WAITING_LIMIT),
                settings.get(AggregateSettings.REDELIVERY_WINDOW),
                ledgerCapacity,
                tends);
    }

    /** A key of an instance that died stays open for a soft window from then on; a new epoch never waits for an old one. */
    HoldRules holdRules() {
        List<String> noted = tends
                ? List.of()
                : List.of(
                        "grace", Long.toString(softWindow.toMillis()),
                        "hard", Long.toString(hardWindow.toMillis()),
                        "window", Long.toString(redeliveryWindow.toSeconds()));
        return new HoldRules(lease, softWindow, claim, attempts, true, ledgerCapacity, noted);
    }

    /** A lease must survive one heartbeat that is lost. */
    Duration heartbeat() {
        return lease.dividedBy(3);
    }

    int tablePerShard() {
        return Math.max(1, table / shards);
    }

    int pendingPerShard() {
        return Math.max(1, pending / shards);
    }

    long waitingPerShard() {
        return Math.max(1, waitingLimit / shards);
    }
}
