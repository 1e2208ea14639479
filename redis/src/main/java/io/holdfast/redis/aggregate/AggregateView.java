package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ThingId;
import io.holdfast.redis.aggregate.AggregateScripts.Frozen;
import io.holdfast.redis.aggregate.AggregateScripts.Shown;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.HoldView.Life;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.link.RedisLink;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A set of aggregates as an observer sees it: without a lease, and without changing anything but what an operator asks for. */
public final class AggregateView {

    private final HoldView view;
    private final AggregateScripts scripts;

    AggregateView(RedisLink link, HoldSet set) {
        this.view = new HoldView(link, set);
        this.scripts = new AggregateScripts(ScriptCaller.by(link), set);
    }

    /** The set as it is stored; empty if there is none of this name. */
    public static Optional<AggregateView> find(RedisLink link, String name) {
        return HoldView.find(link, ThingId.Kind.AGGREGATE, name).map(found -> new AggregateView(link, found.set()));
    }

    /**
     * An instance's part of an epoch.
     *
     * @param published how often the instance has published it; 0 if that is no longer known
     * @param publishedAt when it did so last, by the server's clock; null if that is no longer known
     */
    public record Part(
            String instance,
            long bytes,
            long updates,
            @Nullable Instant lastEvent,
            long published,
            @Nullable Instant publishedAt) {}

    /**
     * An epoch of a key.
     *
     * @param endsInMillis until the hard window is over, or its extension if that is later; 0 if the epoch is not open
     */
    public record Epoch(Life life, long endsInMillis, List<Part> parts) {
        public long bytes() {
            return parts.stream().mapToLong(Part::bytes).sum();
        }

        public long updates() {
            return parts.stream().mapToLong(Part::updates).sum();
        }
    }

    /** All epochs of a key: the open one, those that are on their way to the sink, and dead letters. */
    public List<Epoch> show(String key) {
        int shard = view.set().shardOf(view.set().check(key));
        List<Epoch> epochs = new ArrayList<>();
        for (Life life : view.show(key)) {
            Shown shown = scripts.show(shard, key);
            boolean open = life.state() == HoldView.State.LIVE || life.state() == HoldView.State.GRACE;
            long ends = open && shown.endMillis() >= 0 ? shown.endMillis() - shown.nowMillis() : 0;
            epochs.add(new Epoch(
                    life, ends, parts(scripts.packed(shard, key, life.epoch()), shown.marks(), life.epoch())));
        }
        return epochs;
    }

    private static List<Part> parts(byte[] packed, String marks, long epoch) {
        List<Part> parts = new ArrayList<>();
        for (PartCodec.Named named : PartCodec.unpack(packed)) {
            Tally tally;
            try {
                tally = PartCodec.tally(new Wire.Reader(named.bytes()));
            } catch (HoldfastException e) {
                tally = Tally.NONE; // a part that cannot be read is shown by its size
            }
            // PART NUMBER EPOCH UNTIL-S PUBLISHED SEEN-S: see marks.lua
            Matcher mark = Pattern.compile("\n" + named.name() + " \\d+ " + epoch + " \\d+ (\\d+) (\\d+)")
                    .matcher(marks);
            boolean known = mark.find();
            parts.add(new Part(
                    named.name(),
                    named.bytes().length,
                    tally.updates(),
                    tally.last().orElse(null),
                    known ? Long.parseLong(mark.group(1)) : 0,
                    known ? Instant.ofEpochSecond(Long.parseLong(mark.group(2))) : null));
        }
        return parts;
    }

    /** Up to so many epochs in the given state, those that are due first. */
    public List<Life> list(HoldView.State state, int limit) {
        return view.list(state, limit);
    }

    /** How much of everything there is, in all shards. */
    public record Stats(HoldView.Stats holds, long waitingBytes) {}

    public Stats stats() {
        long bytes = 0;
        for (int shard = 0; shard < view.set().shards(); shard++) {
            bytes += scripts.show(shard, "-").bytes();
        }
        return new Stats(view.stats(), bytes);
    }

    /**
     * Ends the open epoch of a key that no instance holds.
     *
     * @return the epoch
     * @throws HoldfastException GONE if the key is not open; RETRY while an instance holds it, or if too many earlier epochs
     *     of it wait for the sink
     */
    public long end(String key, String by) {
        return ended(key, by, "-");
    }

    /** Ends the open epoch of a key, also while instances hold it; what holders have not published goes into the next one. */
    public long forceEnd(String key, String by) {
        return ended(key, by, "");
    }

    private long ended(String key, String by, String lease) {
        int shard = view.set().shardOf(view.set().check(key));
        long epoch = epochOf(key, scripts.freeze(shard, by, "ended by an operator", lease, key));
        if (epoch == 0) {
            throw new HoldfastException(Category.GONE, "no open aggregate '" + key + "' in " + view.set());
        }
        return epoch;
    }

    /** The epoch that ended, 0 if none was open; throws if it could not be ended. */
    static long epochOf(String key, Frozen frozen) {
        if (!frozen.heldBy().isEmpty()) {
            throw new HoldfastException(
                    Category.RETRY,
                    "aggregate '" + key + "' is held by " + frozen.heldBy(),
                    "wait until it leaves, or force the end",
                    null);
        }
        if (frozen.epoch() < 0) {
            throw new HoldfastException(
                    Category.RETRY,
                    "too many earlier epochs of '" + key + "' wait for the sink",
                    "see that the sink works, then try again",
                    null);
        }
        return frozen.epoch();
    }

    /** Gives a dead letter its attempts back. */
    public void retry(String key, long epoch) {
        view.retry(key, epoch);
    }

    /**
     * Forgets a dead letter and its parts.
     *
     * @param by the text form of a {@link io.holdfast.HolderId}
     * @throws HoldfastException GONE if there is no such letter; MISUSE if {@code by} is not a holder
     */
    public void discard(String key, long epoch, String by) {
        view.discard(key, epoch, by);
    }

    /** What is gone, of the key's shard. */
    public RedisLedger ledger(String key) {
        return view.ledger(key);
    }

    public HoldSet set() {
        return view.set();
    }

    long nowMillis(int shard) {
        return scripts.show(shard, "-").nowMillis();
    }
}
