package io.holdfast.redis.hold;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.Time;
import io.holdfast.redis.hold.HoldScripts.ClaimStep;
import io.holdfast.redis.hold.HoldScripts.LapseStep;
import io.holdfast.redis.hold.Settlement.Verb;
import io.holdfast.redis.hold.ShardLease.Wish;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One instance's holds on the things of one set.
 *
 * <h2>What it promises</h2>
 *
 * <ol>
 *   <li>A thing is claimed only when no living lease is recorded as its holder, and by one instance at a time.
 *   <li>The holders of a thing are names, not a number: a hold that is taken twice is one hold, one that is given up
 *       twice is gone once, and the count can be neither negative nor wrong.
 *   <li>An instance that dies is found by its lease, and what it held is released in bounded steps by any other.
 * </ol>
 *
 * <h2>How it stays true</h2>
 *
 * <b>One decides.</b> Every change is one script in one shard, which is one slot of a cluster; scripts look first and
 * write last. Nothing is decided here from an earlier answer.
 *
 * <p><b>Late and repeated calls.</b> An instance sends one call at a time to a shard, with a lease and a sequence number. The
 * shard remembers the last number of each living lease. The same call again does the same again, which changes nothing;
 * an older one is refused, and so is any call of a lease that is gone. Taking a lease carries the server's time until
 * which it may be done, and the deadline of a lease outlives the lease: so a late repeat can not bring one back.
 *
 * <p><b>A lease is dead when it is marked dead</b>, and then for good. A deadline that has passed only allows the marking. Until
 * then a late renewal is as good as a punctual one; afterwards the instance is told at its next call, takes a new
 * incarnation and asserts again what it holds. If it was slow itself, it knows before the server could: it counts from
 * when it <em>sent</em> its last renewal, on its own monotonic clock ({@link #trusts}).
 *
 * <p><b>A store that proves nothing.</b> After a restart or a fail-over, after a stall of the store, after a jump of its
 * clock, all holders look late and none of them may be. The scripts that mark and claim see this by themselves ({@code
 * quiet.lua}), and then nothing lapses and nothing is claimed for as long as the longest lease that is out.
 * Meanwhile the instances assert again what they hold. What asynchronous replication has lost, a fail-over cannot bring
 * back: a close that was committed may then be done again, with a higher token.
 *
 * <p><b>Time</b> is the server's throughout; an instance's wall clock is never used.
 */
public final class Holds {

    private static final System.Logger LOG = System.getLogger(Holds.class.getName());

    /** How many things one step of releasing the dead may touch, in each shard. */
    static final int LAPSE_BUDGET = 128;

    private static final int SETTLEMENTS_MAX = 256;

    /** What a heartbeat found of a shard. */
    public enum Condition {
        RENEWED,
        /** The lease was gone; a new one has been taken. */
        REJOINED,
        /** Another server answers than before, perhaps with an earlier state. */
        REPLACED,
        UNREACHABLE
    }

    private final HoldSet set;
    private final HoldRules rules;
    private final HoldScripts scripts;
    private final Time time;
    private final List<ShardLease> leases = new ArrayList<>();
    private final List<Combiner<Settlement, Settlement.Result>> settling = new ArrayList<>();
    private final String by;
    private final ReclaimReason reason;
    /** What was said last of a shard that refused. */
    private final AtomicReferenceArray<String> refusals;

    /** The shard that may claim first, if not all may. */
    private final AtomicInteger claimTurn = new AtomicInteger();

    /**
     * @param self a holder whose incarnation nobody else uses, not even another {@code Holds} of this process
     * @param random where further incarnations are drawn from
     * @param reason what the ledger says when a claim is committed
     */
    public Holds(
            ScriptCaller caller,
            HoldSet set,
            HoldRules rules,
            HolderId self,
            Time time,
            RandomGenerator random,
            ReclaimReason reason) {
        this.set = set;
        this.rules = rules;
        this.scripts = new HoldScripts(caller, set);
        this.time = time;
        this.by = self.toString();
        this.reason = reason;
        this.refusals = new AtomicReferenceArray<>(set.shards());
        for (int shard = 0; shard < set.shards(); shard++) {
            leases.add(new ShardLease(scripts, set, rules, time, random, shard, self));
            String what = "claims in shard " + shard + " of " + set;
            settling.add(new Combiner<>(what, scripts.timeout().multipliedBy(2), this::settled));
        }
    }

    /** Takes a lease in every shard. */
    public void start() {
        leases.forEach(ShardLease::start);
        long quietMillis =
                leases.stream().mapToLong(ShardLease::quietMillis).max().orElse(0);
        if (quietMillis > 0) {
            LOG.log(
                    Level.INFO,
                    () -> set + " is new at this server: nothing ends, is closed or flushed for " + quietMillis
                            + " ms (quiet time), so that instances that knew an earlier server can come back");
        }
    }

    /** How long a call waits at most, also behind others. */
    public Duration patience() {
        return scripts.timeout().multipliedBy(2);
    }

    public HoldSet set() {
        return set;
    }

    /** Under which lease this instance holds things of a shard at the moment. */
    public HolderId holder(int shard) {
        return leases.get(shard).holder();
    }

    /** Makes this instance a holder of the thing. */
    public Held acquire(String id) {
        return wish(Wish.Verb.ACQUIRE, id);
    }

    /** Lets the thing live for another idle time. */
    public Held touch(String id) {
        return wish(Wish.Verb.TOUCH, id);
    }

    private Held wish(Wish.Verb verb, String id) {
        Wish wish = new Wish(verb, set.check(id));
        Held held = lease(id).submit(wish);
        if (held.isClosed()) {
            held = lease(id).submit(wish); // it was closed between the call that got no answer and its repeat
        }
        if (!held.isOpen()) {
            throw new HoldfastException(
                    Category.FULL,
                    set.kind().word() + " '" + id + "' is not open, and Redis has no memory to open it",
                    "raise maxmemory, or wait until others are closed",
                    null);
        }
        return held;
    }

    public void release(String id) {
        lease(id).submit(new Wish(Wish.Verb.RELEASE, id));
    }

    /** Acquires or asserts again many things of one shard. */
    public List<Held> acquireAll(int shard, List<String> ids) {
        return ids.isEmpty() ? List.of() : leases.get(shard).submitAll(Wish.Verb.ACQUIRE, ids);
    }

    public void releaseAll(int shard, List<String> ids) {
        if (!ids.isEmpty()) {
            leases.get(shard).submitAll(Wish.Verb.RELEASE, ids);
        }
    }

    /** Sets data fields of a thing that this instance holds; an empty value removes the field. */
    public void put(String id, long epoch, long limitBytes, Map<String, String> fields) {
        Status status = lease(id).put(id, epoch, limitBytes, fields);
        switch (status) {
            case OK -> {}
            case FULL ->
                throw new HoldfastException(
                        Category.FULL,
                        "the data of " + set.kind().word() + " '" + id + "' would exceed " + limitBytes + " bytes",
                        "store less, or keep large data elsewhere and its address here",
                        null);
            case GONE ->
                throw new HoldfastException(
                        Category.GONE, set.kind().word() + " '" + id + "' is not held in epoch " + epoch + " any more");
            default -> throw new HoldfastException(Category.LAPSED, "the lease of this instance has lapsed");
        }
    }

    /**
     * Gives all leases up, without releasing what they hold one by one; for an instance that holds nothing more. Where that
     * cannot be said they lapse.
     */
    public void leave() {
        Map<Integer, Supplier<Call>> calls = new TreeMap<>();
        for (int shard = 0; shard < leases.size(); shard++) {
            calls.put(shard, leases.get(shard)::leaving);
        }
        together(calls);
    }

    /** Releases things of several shards in one round trip; returns the shards that answered. */
    public Set<Integer> releaseTogether(Map<Integer, List<String>> byShard) {
        Map<Integer, Supplier<Call>> calls = new TreeMap<>();
        byShard.forEach((shard, ids) -> calls.put(shard, () -> leases.get(shard).releasing(ids)));
        return together(calls);
    }

    /** Calls several shards at once, each in its lane; returns those that answered. */
    private Set<Integer> together(Map<Integer, Supplier<Call>> wanted) {
        List<Integer> locked = new ArrayList<>();
        List<Call> calls = new ArrayList<>();
        try {
            for (Map.Entry<Integer, Supplier<Call>> call : wanted.entrySet()) {
                try {
                    calls.add(call.getValue().get());
                    locked.add(call.getKey());
                } catch (HoldfastException e) {
                    LOG.log(Level.DEBUG, "a lane of " + set + " is busy: what it holds lapses", e);
                }
            }
            Set<Integer> answered = new TreeSet<>();
            List<Outcome> outcomes = calls.isEmpty() ? List.of() : scripts.all(calls);
            for (int i = 0; i < outcomes.size(); i++) {
                if (outcomes.get(i).ofWhatWasDone() != null) {
                    answered.add(locked.get(i));
                }
            }
            return answered;
        } finally {
            locked.forEach(shard -> leases.get(shard).letGo());
        }
    }

    /** Renews the leases of all shards, takes new ones where they are gone, and says what was found in each. */
    public List<Condition> heartbeat() {
        long sent = time.nanoTime();
        List<HolderId> senders = leases.stream().map(ShardLease::holder).toList();
        List<Outcome> outcomes =
                scripts.all(leases.stream().map(ShardLease::renewal).toList());
        List<Condition> conditions = new ArrayList<>();
        for (int shard = 0; shard < leases.size(); shard++) {
            conditions.add(condition(shard, senders.get(shard), sent, outcomes.get(shard)));
        }
        return conditions;
    }

    /** A renewal that too few replicas have counts: only its server can let the lease lapse, or another after quiet time. */
    private Condition condition(int shard, HolderId sender, long sent, Outcome outcome) {
        try {
            Reply done = outcome.ofWhatWasDone();
            return leases.get(shard).renewed(sender, sent, HoldScripts.Beat.of(done == null ? outcome.get() : done));
        } catch (HoldfastException e) {
            refused(shard, e);
            return Condition.UNREACHABLE;
        }
    }

    /**
     * A shard did not do what was asked of it. That keeps nobody from the others, and does not pass over in silence: what will
     * not pass by itself is said, once for as long as it stays the same.
     */
    public void refused(int shard, HoldfastException failure) {
        String said = String.valueOf(failure.getMessage());
        if (!failure.isRetryable() && !said.equals(refusals.getAndSet(shard, said))) {
            LOG.log(
                    Level.WARNING,
                    () -> "shard " + shard + " of " + set + " refuses: " + said + "; " + failure.action());
        }
    }

    /** Null where there is no reply; throws only if every shard refuses, in a way that does not pass. */
    private List<@Nullable Reply> replies(List<Outcome> outcomes) {
        List<@Nullable Reply> replies = new ArrayList<>();
        for (int shard = 0; shard < outcomes.size(); shard++) {
            HoldfastException failure = outcomes.get(shard).failure();
            if (failure != null) {
                refused(shard, failure);
            }
            // What was claimed is to be closed, wherever it is known: a claim that is forgotten counts as an attempt.
            replies.add(outcomes.get(shard).ofWhatWasDone());
        }
        for (Outcome outcome : outcomes) {
            HoldfastException failure = outcome.failure();
            if (failure != null && !failure.isRetryable() && replies.stream().allMatch(Objects::isNull)) {
                throw failure;
            }
        }
        return replies;
    }

    /** Whether this instance may still believe that its holds in the thing's shard have not lapsed. */
    public boolean trusts(String id) {
        return trustedFor(set.shardOf(id)) > 0;
    }

    /** For how many nanoseconds it may; negative since it may not. */
    public long trustedFor(int shard) {
        return leases.get(shard).trust.untilNanos() - time.nanoTime();
    }

    /** A number that grows whenever the store may have forgotten what this instance holds in the shard. */
    public int doubts(int shard) {
        return leases.get(shard).trust.doubts();
    }

    public boolean isDoubtful(int shard) {
        return leases.get(shard).trust.isDoubtful();
    }

    /** Everything held in the shard has been asserted again since {@link #doubts} answered this number. */
    public void settleDoubts(int shard, int doubts) {
        leases.get(shard).trust.settleDoubts(doubts);
    }

    /**
     * What a round of {@link #lapse} or {@link #claim} did in all shards.
     *
     * @param unreplicated whether too few replicas have it
     */
    public record Round(
            List<Claim> claims,
            long fresh,
            long again,
            long dead,
            long mistaken,
            long lapsed,
            long released,
            boolean more,
            boolean unreplicated,
            long nextMillis) {}

    /** Marks the leases dead whose deadline has passed, and releases what the dead held, a bounded number of things. */
    public Round lapse() {
        List<Call> calls = new ArrayList<>();
        for (int shard = 0; shard < set.shards(); shard++) {
            calls.add(scripts.lapsing(shard, LAPSE_BUDGET, rules, by));
        }
        long lapsed = 0;
        long released = 0;
        boolean more = false;
        boolean whole = true;
        long next = Long.MAX_VALUE;
        for (Reply reply : replies(scripts.all(calls))) {
            if (reply == null) {
                whole = false;
                continue; // a shard that cannot be reached keeps nobody from the others
            }
            LapseStep step = LapseStep.of(reply);
            lapsed += step.lapsed();
            released += step.released();
            more |= step.more();
            next = Math.min(next, step.nextMillis() < 0 ? Long.MAX_VALUE : step.nextMillis());
        }
        return new Round(List.of(), 0, 0, 0, 0, lapsed, released, more && whole, false, next);
    }

    /** Claims what is due, up to so many things in each shard. */
    public Round claim(int limitPerShard) {
        return claim(limitPerShard * set.shards(), limitPerShard);
    }

    /** Claims what is due, up to so many things in all, and in each shard. If there are more shards, they take turns. */
    public Round claim(int limit, int limitPerShard) {
        int shards = set.shards();
        int first = claimTurn.getAndAdd(limit % shards);
        int[] limits = new int[shards];
        List<Call> calls = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            int place = Math.floorMod(shard - first, shards);
            limits[shard] = Math.min(limitPerShard, limit / shards + (place < limit % shards ? 1 : 0));
            calls.add(scripts.claiming(shard, limits[shard], rules, by));
        }
        List<Claim> claims = new ArrayList<>();
        long fresh = 0;
        long again = 0;
        long dead = 0;
        long mistaken = 0;
        long next = Long.MAX_VALUE;
        boolean more = false;
        List<Outcome> outcomes = scripts.all(calls);
        List<@Nullable Reply> replies = replies(outcomes);
        boolean unreplicated = false;
        for (int shard = 0; shard < shards; shard++) {
            Reply reply = replies.get(shard);
            unreplicated |= reply != null && outcomes.get(shard).failure() != null;
            if (reply == null) {
                continue; // the claims of the other shards must not be forgotten
            }
            ClaimStep step = ClaimStep.of(reply);
            claims.addAll(step.claims());
            fresh += step.fresh();
            again += step.again();
            dead += step.dead();
            mistaken += step.mistaken();
            more |= !step.claims().isEmpty() && step.claims().size() == limits[shard];
            next = Math.min(next, step.nextMillis() < 0 ? Long.MAX_VALUE : step.nextMillis());
        }
        return new Round(claims, fresh, again, dead, mistaken, 0, 0, more, unreplicated, next);
    }

    /**
     * Settles a claim, together with what others settle at the same time.
     *
     * @throws HoldfastException RETRY if there was no answer: it may be settled or not, and can be settled again
     */
    public Settlement.Result settle(Settlement settlement) {
        return settling.get(set.shardOf(settlement.claim().id())).submit(settlement);
    }

    /** Renews claims; no result where a shard did not answer. */
    public Map<Claim, Settlement.Result> renewAll(Collection<Claim> claims) {
        long millis = rules.claim().toMillis();
        return settleAll(claims.stream()
                .map(claim -> new Settlement(Verb.RENEW, claim, millis, ""))
                .toList());
    }

    /** Settles claims in one round trip however many they are; no result where a shard did not answer. */
    public Map<Claim, Settlement.Result> settleAll(Collection<Settlement> settlements) {
        Map<Integer, List<Settlement>> byShard = settlements.stream()
                .collect(
                        Collectors.groupingBy(one -> set.shardOf(one.claim().id()), TreeMap::new, Collectors.toList()));
        List<List<Settlement>> batches = new ArrayList<>();
        for (List<Settlement> some : byShard.values()) {
            for (int from = 0; from < some.size(); from += SETTLEMENTS_MAX) {
                batches.add(some.subList(from, Math.min(from + SETTLEMENTS_MAX, some.size())));
            }
        }
        List<Outcome> outcomes =
                scripts.all(batches.stream().map(this::settling).toList());
        Map<Claim, Settlement.Result> results = new HashMap<>();
        for (int i = 0; i < batches.size(); i++) {
            Reply reply = outcomes.get(i).ofWhatWasDone();
            for (int j = 0; reply != null && j < batches.get(i).size(); j++) {
                results.put(batches.get(i).get(j).claim(), result(reply, j));
            }
        }
        return results;
    }

    private Call settling(List<Settlement> batch) {
        int shard = set.shardOf(batch.getFirst().claim().id());
        return scripts.settling(shard, rules, by, reason, batch);
    }

    private static Settlement.Result result(Reply reply, int index) {
        return Settlement.Result.of(Status.valueOf(reply.text(index)));
    }

    /** What too few replicas have is settled all the same: if it is lost, the claim is given anew. */
    private List<Settlement.Result> settled(List<Settlement> batch) {
        Outcome outcome = scripts.all(List.of(settling(batch))).getFirst();
        Reply done = outcome.ofWhatWasDone();
        Reply reply = done == null ? outcome.get() : done;
        List<Settlement.Result> results = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            results.add(result(reply, i));
        }
        return results;
    }

    private ShardLease lease(String id) {
        return leases.get(set.shardOf(id));
    }
}
