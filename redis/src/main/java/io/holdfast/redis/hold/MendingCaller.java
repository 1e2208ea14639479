package io.holdfast.redis.hold;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * Rebuilds a shard whose server's log was torn inside a script ({@code tally.lua}), then repeats the call that found it so. The
 * steps of a rebuild are bounded, and any number of instances may make them: the shard keeps the place. Nothing ends before it
 * is done, and quiet time follows.
 *
 * <p>A caller makes steps for one time-out at most. If that is not enough it fails with RETRY, and the next call goes on from
 * there.
 */
public final class MendingCaller implements ScriptCaller {

    private static final System.Logger LOG = System.getLogger(MendingCaller.class.getName());

    private final ScriptCaller caller;
    private final HoldSet set;
    private final HoldScripts scripts;
    private final Duration grace;
    private final IntPredicate rest;
    private final Time time;

    /**
     * @param grace for what turns out to have no holder, if the serving instances noted none
     * @param rest one step of rebuilding what the kind of thing keeps beside its holds, in one shard; returns whether there
     *     is more
     */
    public MendingCaller(ScriptCaller caller, HoldSet set, Duration grace, IntPredicate rest, Time time) {
        this.caller = caller;
        this.set = set;
        this.scripts = new HoldScripts(caller, set);
        this.grace = grace;
        this.rest = rest;
        this.time = time;
    }

    @Override
    public Reply call(Call call) {
        try {
            return caller.call(call);
        } catch (HoldfastException e) {
            if (!RedisLink.isTorn(e)) {
                throw e;
            }
            mend(shardOf(call));
            return caller.call(call);
        }
    }

    @Override
    public List<Outcome> callAll(List<Call> calls) {
        List<Outcome> outcomes = new ArrayList<>(caller.callAll(calls));
        for (int i = 0; i < calls.size(); i++) {
            HoldfastException failure = outcomes.get(i).failure();
            if (failure != null && RedisLink.isTorn(failure)) {
                outcomes.set(i, again(calls.get(i)));
            }
        }
        return outcomes;
    }

    private Outcome again(Call call) {
        try {
            mend(shardOf(call));
            return caller.callAll(List.of(call)).getFirst();
        } catch (HoldfastException e) {
            return new Outcome(null, e);
        }
    }

    @Override
    public Duration timeout() {
        return caller.timeout();
    }

    private void mend(int shard) {
        LOG.log(
                Level.WARNING,
                () -> "shard " + shard + " of " + set
                        + ": the server's log was cut inside a script; its indexes are rebuilt before anything ends");
        long deadline = time.nanoTime() + timeout().toNanos();
        while (scripts.rebuild(shard, false, grace.toMillis()) == Status.MORE) {
            inTime(deadline, shard);
        }
        while (rest.test(shard)) {
            inTime(deadline, shard);
        }
        scripts.rebuild(shard, true, grace.toMillis());
    }

    private void inTime(long deadline, int shard) {
        if (time.nanoTime() - deadline >= 0) {
            throw new HoldfastException(
                    Category.RETRY, "shard " + shard + " of " + set + " is still being rebuilt after a cut of the log");
        }
    }

    /** The shard that a call goes to, by its first key. */
    private int shardOf(Call call) {
        String key = new String(call.keys().getFirst(), StandardCharsets.UTF_8);
        return Keyspace.of(key).orElseThrow().shard();
    }
}
