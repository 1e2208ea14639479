package io.holdfast.redis.hold;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.hold.HoldScripts.Beat;
import io.holdfast.redis.hold.HoldScripts.Lines;
import io.holdfast.redis.link.RedisLink.Call;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * One instance's lease in one shard, and the only way by which it changes things there: one call at a time, each with
 * the next sequence number. A call that got no answer is repeated once with the same number, so it counts once; one
 * that arrives later still is older than the next call and changes nothing.
 */
final class ShardLease {

    /** What a caller wants of a thing. */
    record Wish(Verb verb, String id) {
        enum Verb {
            RELEASE,
            ACQUIRE,
            TOUCH
        }
    }

    private static final Held RELEASED = new Held("", 0, false, 0, 0);
    private static final int TRIES_MAX = 3;

    private final HoldScripts scripts;
    private final HoldSet set;
    private final HoldRules rules;
    private final Time time;
    private final int shard;
    private final Combiner<Wish, Held> lane = new Combiner<>(this::fulfil);

    // Changed only in the lane.
    private volatile HolderId holder;
    private long sequence;
    private String run = "";

    /** The server's time in its last answer, and our own when that came. */
    private volatile long serverMillis;

    private volatile long serverNanos;
    /** Until when, on our monotonic clock, the server cannot have thought us late. */
    private volatile long trustedUntilNanos;
    /** Grows whenever the store may no longer know what this instance holds. */
    private final AtomicInteger doubts = new AtomicInteger();

    private volatile int settledDoubts;

    ShardLease(HoldScripts scripts, HoldSet set, HoldRules rules, Time time, int shard, HolderId holder) {
        this.scripts = scripts;
        this.set = set;
        this.rules = rules;
        this.time = time;
        this.shard = shard;
        this.holder = usable(holder);
        this.trustedUntilNanos = time.nanoTime();
    }

    HolderId holder() {
        return holder;
    }

    /** What a lease holds is filed under the last 48 bits of its incarnation, and zero would be a time. */
    private static HolderId usable(HolderId drawn) {
        HolderId holder = drawn;
        while ((holder.incarnation() & 0xFFFF_FFFF_FFFFL) == 0) {
            holder = holder.reborn();
        }
        return holder;
    }

    private String lease() {
        return "," + holder;
    }

    /** Makes the shard ready and takes the first lease. */
    void start() {
        lane.alone(() -> {
            openShard();
            join();
            return RELEASED;
        });
    }

    Held submit(Wish wish) {
        return lane.submit(wish);
    }

    /** The same for many things at once. */
    List<Held> submitAll(Wish.Verb verb, List<String> ids) {
        return lane.alone(
                () -> fulfil(ids.stream().map(id -> new Wish(verb, id)).toList()));
    }

    private List<Held> fulfil(List<Wish> wishes) {
        Held[] results = new Held[wishes.size()];
        for (Wish.Verb verb : Wish.Verb.values()) {
            List<String> ids = new ArrayList<>();
            List<Integer> places = new ArrayList<>();
            for (int i = 0; i < wishes.size(); i++) {
                if (wishes.get(i).verb() == verb) {
                    ids.add(wishes.get(i).id());
                    places.add(i);
                }
            }
            if (ids.isEmpty()) {
                continue;
            }
            Lines lines = send(verb, ids);
            for (int i = 0; i < ids.size(); i++) {
                results[places.get(i)] = verb == Wish.Verb.RELEASE ? RELEASED : held(ids.get(i), lines, i);
            }
        }
        return List.of(results);
    }

    private static Held held(String id, Lines lines, int index) {
        String record = lines.records().get(index);
        return record.equals("GONE") ? new Held(id, 0, false, 0, 0) : Held.parse(id, record, lines.before());
    }

    private Lines send(Wish.Verb verb, List<String> ids) {
        for (int tries = 1; ; tries++) {
            sequence++;
            Call call = switch (verb) {
                case ACQUIRE -> scripts.acquiring(shard, sequence, lease(), ids);
                case TOUCH -> scripts.touching(shard, sequence, rules.grace().toMillis(), lease(), ids);
                case RELEASE -> scripts.releasing(shard, sequence, rules.grace().toMillis(), lease(), ids);
            };
            Lines lines = answered(() -> scripts.lines(call));
            if (lines.status() == Status.OK || (verb == Wish.Verb.RELEASE && lines.status() == Status.LAPSED)) {
                return lines;
            }
            if (tries == TRIES_MAX) {
                throw lapsed();
            }
            rejoin();
        }
    }

    Status put(String id, long epoch, long limit, Map<String, String> fields) {
        return lane.alone(() -> {
            sequence++;
            return answered(() -> scripts.put(shard, sequence, lease(), id, epoch, limit, fields));
        });
    }

    /** Calls, and once more with the very same arguments if there was no answer. */
    private static <T> T answered(Supplier<T> call) {
        try {
            return call.get();
        } catch (HoldfastException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            return call.get();
        }
    }

    Call renewal() {
        return scripts.renewing(shard, lease(), rules.lease().toMillis());
    }

    /** Takes note of the answer to a renewal that was sent at the given time by the given holder. */
    Holds.Condition renewed(HolderId sender, long sentNanos, Beat beat) {
        return lane.alone(() -> {
            note(beat);
            if (!sender.equals(holder)) {
                return Holds.Condition.RENEWED; // another lease has been taken since, which is as good
            }
            if (beat.status() != Status.OK) {
                rejoin();
                return Holds.Condition.REJOINED;
            }
            trustedUntilNanos = sentNanos + rules.lease().toNanos();
            if (!beat.run().equals(run)) {
                run = beat.run();
                doubts.incrementAndGet();
                return Holds.Condition.REPLACED;
            }
            return Holds.Condition.RENEWED;
        });
    }

    /** A new incarnation: whatever the old one still has under way is refused from now on. */
    private void rejoin() {
        holder = usable(holder.reborn());
        sequence = 0;
        doubts.incrementAndGet();
        join();
    }

    private void join() {
        for (int tries = 1; tries <= TRIES_MAX; tries++) {
            long sent = time.nanoTime();
            long sinceAnswer = Math.max(0, sent - serverNanos) / 1_000_000;
            long validUntil = serverMillis + sinceAnswer + rules.lease().toMillis();
            Beat beat =
                    answered(() -> scripts.join(shard, lease(), rules.lease().toMillis(), validUntil));
            note(beat);
            switch (beat.status()) {
                case OK -> {
                    trustedUntilNanos = sent + rules.lease().toNanos();
                    run = beat.run();
                    return;
                }
                case CLOSED -> openShard();
                case LAPSED -> holder = usable(holder.reborn());
                default -> {} // LATE: the next try knows the time
            }
        }
        throw lapsed();
    }

    private void openShard() {
        Beat beat = answered(() -> scripts.open(shard, rules));
        note(beat);
        if (beat.status() == Status.DIFFERS) {
            throw HoldfastException.misuse(
                    set + " is stored with " + beat.run() + ", and this instance wants layout " + HoldSet.LAYOUT
                            + ", shards " + set.shards() + ", mode " + set.mode(),
                    "give all instances the stored setting, or use another name");
        }
    }

    private void note(Beat beat) {
        serverMillis = beat.nowMillis();
        serverNanos = time.nanoTime();
    }

    private HoldfastException lapsed() {
        return new HoldfastException(
                Category.RETRY, "the lease of " + holder + " in shard " + shard + " of " + set + " keeps lapsing");
    }

    void leave() {
        lane.alone(() -> {
            scripts.leave(shard, lease());
            return RELEASED;
        });
    }

    long trustedUntilNanos() {
        return trustedUntilNanos;
    }

    int doubts() {
        return doubts.get();
    }

    boolean isDoubtful() {
        return doubts.get() != settledDoubts;
    }

    void settleDoubts(int seen) {
        settledDoubts = seen;
    }
}
