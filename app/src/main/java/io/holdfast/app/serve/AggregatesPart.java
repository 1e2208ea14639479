package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateMeters;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.AggregateView;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.Codec;
import io.holdfast.redis.hold.HoldView;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Notices instances of one set that died, and ends epochs whose window is over. Merging and flushing is for the applications,
 * which know what the parts mean.
 */
final class AggregatesPart extends Part {

    private final String set;
    private final RedisPart redis;
    private final DaemonMeters meters;
    private @Nullable Aggregates<byte[]> aggregates;

    AggregatesPart(String set, RedisPart redis, DaemonMeters meters) {
        super("aggregates " + set);
        this.set = set;
        this.redis = redis;
        this.meters = meters;
    }

    @Override
    void start() {
        tryToJoin(redis.client());
    }

    private void tryToJoin(Holdfast holdfast) {
        Optional<AggregateView> found = AggregateView.find(holdfast.link(), set);
        if (found.isEmpty()) {
            return;
        }
        Aggregates<byte[]> started = holdfast.aggregates(set, byte[].class, (one, other) -> {
                    throw HoldfastException.misuse("the daemon does not merge", "merge in an application");
                })
                .codec(new AsItIs())
                .tending()
                .set(AggregateSettings.SHARDS, found.get().set().shards())
                .start();
        meters.bind(new AggregateMeters(started));
        aggregates = started;
    }

    @Override
    String look() {
        if (aggregates == null) {
            tryToJoin(redis.client());
        }
        Aggregates<byte[]> open = aggregates;
        if (open == null) {
            return "there are none yet";
        }
        AggregateView.Stats now = open.view().stats();
        HoldView.Stats holds = now.holds();
        return holds.live() + holds.grace() + " open, " + holds.closing() + " on their way to the sink, "
                + holds.deadLetters() + " dead letters, " + now.waitingBytes() + " bytes wait";
    }

    @Override
    void stop() {
        closeQuietly(aggregates);
    }

    private static final class AsItIs implements Codec<byte[]> {
        @Override
        public byte[] encode(byte[] value) {
            return value;
        }

        @Override
        public byte[] decode(byte[] bytes) {
            return bytes;
        }
    }
}
