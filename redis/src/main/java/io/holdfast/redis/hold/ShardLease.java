package io.holdfast.redis.hold;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.hold.HoldScripts.Beat;
import io.holdfast.redis.hold.HoldScripts.Lines;
import io.holdfast.redis.lease.LeaseTrust;
import io.holdfast.redis.link.RedisLink.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * One instance's lease in one shard, and the only way by which it changes things there: one call at a time, each with
 * the next sequence number. A call whose connection broke is repeated once with the same number, so it counts once; one
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
    private final RandomGenerator random;
    private final int shard;
    private final Combiner<Wish, Held> lane;
    private final Duration timeout;

    // Changed only in the lane.
    private volatile HolderId holder;
    private long sequence;
    final LeaseTrust trust;
    private volatile long quietMillis;

    ShardLease(
            HoldScripts scripts,
            HoldSet set,
            HoldRules rules,
            Time time,
            RandomGenerator random,
            int shard,
            HolderId holder) {
        this.scripts = scripts;
        this.set = set;
        this.rules = rules;
        this.time = time;
        this.random = random;
        this.shard = shard;
        this.timeout = scripts.timeout();
        this.lane = new Combiner<>("shard " + shard + " of " + set, timeout.multipliedBy(2), this::fulfil);
        this.holder = usable(holder);
        this.trust = new LeaseTrust(rules.lease(), time);
    }

    HolderId holder() {
        return holder;
    }

    /** What a lease holds is filed under the last 48 bits of its incarnation, and zero would be a time. */
    private HolderId usable(HolderId drawn) {
        HolderId holder = drawn;
        while ((holder.incarnation() & 0xFFFF_FFFF_FFFFL) == 0) {
            holder = holder.reborn(random);
        }
        return holder;
    }

    private String lease() {
        return "," + holder;
    }

    /** Makes the shard ready and takes the first lease. */
    void start() {
        lane.alone(() -> {
            // Instances that the store has forgotten come back with their next heartbeat, which is a third of a lease
            // away.
            openShard(rules.lease().toMillis() / 2);
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
        return Held.parse(id, lines.records().get(index), lines.before());
    }

    private Lines send(Wish.Verb verb, List<String> ids) {
        for (int tries = 1; ; tries++) {
            Lines lines;
            try {
                lines = sendOnce(verb, ids, true);
            } catch (HoldfastException e) {
                if (e.category() != Category.FULL || verb == Wish.Verb.RELEASE) {
                    throw e;
                }
                lines = sendOnce(verb, ids, false); // what is open is kept open all the same
            }
            if (lines.status() == Status.OK || (verb == Wish.Verb.RELEASE && lines.status() == Status.LAPSED)) {
                return lines;
            }
            if (tries == TRIES_MAX) {
                throw lapsed();
            }
            rejoin();
        }
    }

    private Lines sendOnce(Wish.Verb verb, List<String> ids, boolean opens) {
        sequence++;
        long millis = rules.grace().toMillis();
        Call call = switch (verb) {
            case ACQUIRE -> scripts.acquiring(shard, opens, sequence, lease(), ids);
            case TOUCH -> scripts.touching(shard, opens, sequence, millis, lease(), ids);
            case RELEASE -> scripts.releasing(shard, sequence, millis, lease(), ids);
        };
        return answered(() -> scripts.lines(call));
    }

    Status put(String id, long epoch, long limit, Map<String, String> fields) {
        return lane.alone(() -> {
            sequence++;
            return answered(() -> scripts.put(shard, sequence, lease(), id, epoch, limit, fields));
        });
    }

    /** Calls, and once more with the very same arguments if the connection broke. After a time-out it is not repeated. */
    private <T> T answered(Supplier<T> call) {
        long begun = System.nanoTime();
        try {
            return call.get();
        } catch (HoldfastException e) {
            if (!e.isRetryable() || System.nanoTime() - begun > timeout.toNanos() * 9 / 10) {
                throw e;
            }
            return call.get();
        }
    }

    /** Takes the lane for a call that is sent together with those of other shards; to be followed by {@link #letGo}. */
    Call releasing(List<String> ids) {
        lane.lockInTime();
        sequence++;
        return scripts.releasing(shard, sequence, rules.grace().toMillis(), lease(), ids);
    }

    Call leaving() {
        lane.lockInTime();
        return scripts.leaving(shard, lease());
    }

    void letGo() {
        lane.unlock();
    }

    Call renewal() {
        return scripts.renewing(shard, lease(), rules.lease().toMillis());
    }

    /** Takes note of the answer to a renewal that was sent at the given time by the given holder. */
    Holds.Condition renewed(HolderId sender, long sentNanos, Beat beat) {
        return lane.alone(() -> {
            trust.heard(beat.nowMillis());
            if (!sender.equals(holder)) {
                return Holds.Condition.RENEWED; // another lease has been taken since, which is as good
            }
            if (beat.status() != Status.OK) {
                rejoin();
                return Holds.Condition.REJOINED;
            }
            return trust.renewed(sentNanos, beat.run()) ? Holds.Condition.RENEWED : Holds.Condition.REPLACED;
        });
    }

    /** A new incarnation: whatever the old one still has under way is refused from now on. */
    private void rejoin() {
        holder = usable(holder.reborn(random));
        sequence = 0;
        trust.doubt();
        join();
    }

    private void join() {
        for (int tries = 1; tries <= TRIES_MAX; tries++) {
            long sent = time.nanoTime();
            long validUntil = trust.serverMillisAt(sent) + rules.lease().toMillis();
            Beat beat =
                    answered(() -> scripts.join(shard, lease(), rules.lease().toMillis(), validUntil));
            trust.heard(beat.nowMillis());
            switch (beat.status()) {
                case OK -> {
                    trust.taken(sent, beat.run());
                    return;
                }
                case CLOSED -> openShard(rules.lease().toMillis());
                case LAPSED -> holder = usable(holder.reborn(random));
                default -> {} // LATE: the next try knows the time
            }
        }
        throw lapsed();
    }

    /** How long nothing ends in the shard because this instance made it; 0 if it was there. */
    long quietMillis() {
        return quietMillis;
    }

    private void openShard(long quietIfNew) {
        Beat beat = answered(() -> scripts.open(shard, rules, quietIfNew));
        trust.heard(beat.nowMillis());
        quietMillis = beat.run().equals(HoldScripts.NEW_SHARD) ? quietIfNew : 0;
        if (beat.status() == Status.DIFFERS) {
            throw HoldfastException.misuse(
                    set + " is stored with " + beat.run() + ", and this instance wants layout " + HoldSet.LAYOUT
                            + ", shards " + set.shards() + ", mode " + set.mode(),
                    "give all instances the stored setting, or use another name");
        }
    }

    private HoldfastException lapsed() {
        return new HoldfastException(
                Category.RETRY, "the lease of " + holder + " in shard " + shard + " of " + set + " keeps lapsing");
    }
}
