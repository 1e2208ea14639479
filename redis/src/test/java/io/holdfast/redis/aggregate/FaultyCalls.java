package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;

/** A network that loses requests, loses replies, and delivers calls again or much later. */
final class FaultyCalls {

    /** A call that is on its way, and when it was sent. */
    private record Late(Call call, long sentMillis) {}

    private final RedisLink link;
    private final RandomGenerator random;
    private final List<Late> late = new ArrayList<>();
    private boolean faulty = true;
    private long nowMillis;

    FaultyCalls(RedisLink link, RandomGenerator random) {
        this.link = link;
        this.random = random;
    }

    boolean isFaulty() {
        return faulty;
    }

    void heal() {
        faulty = false;
    }

    void advance(long millis) {
        nowMillis += millis;
    }

    /** Something that was on its way for long arrives. */
    void deliverOne() {
        if (!late.isEmpty()) {
            Late one = late.remove(random.nextInt(late.size()));
            link.call(aged(one.call(), nowMillis - one.sentMillis()));
        }
    }

    void deliverAll() {
        while (!late.isEmpty()) {
            deliverOne();
        }
    }

    /** The network as one instance sees it; a dead instance's calls go nowhere. */
    ScriptCaller of(BooleanSupplier dead) {
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                return sendAll(dead, List.of(call)).getFirst().get();
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                return sendAll(dead, calls);
            }
        };
    }

    private enum Fate {
        ANSWERED,
        REQUEST_LOST,
        REPLY_LOST,
        LATE,
        REPEATED_LATE;

        boolean executes() {
            return this != REQUEST_LOST && this != LATE;
        }
    }

    private Fate fate() {
        int dice = faulty ? random.nextInt(100) : 100;
        return dice < 5
                ? Fate.REQUEST_LOST
                : dice < 11 ? Fate.REPLY_LOST : dice < 15 ? Fate.LATE : dice < 20 ? Fate.REPEATED_LATE : Fate.ANSWERED;
    }

    private List<Outcome> sendAll(BooleanSupplier dead, List<Call> given) {
        List<Call> calls = given.stream().map(FaultyCalls::exactTime).toList();
        List<Fate> fates = new ArrayList<>();
        List<Call> executed = new ArrayList<>();
        for (Call call : calls) {
            Fate fate = dead.getAsBoolean() ? Fate.REQUEST_LOST : fate();
            fates.add(fate);
            if (fate.executes()) {
                executed.add(call);
            }
            if (fate == Fate.LATE || fate == Fate.REPEATED_LATE) {
                late.add(new Late(call, nowMillis));
            }
        }
        Iterator<Outcome> results = (executed.isEmpty() ? List.<Outcome>of() : link.callAll(executed)).iterator();
        List<Outcome> outcomes = new ArrayList<>();
        for (Fate fate : fates) {
            Reply reply = fate.executes() ? results.next().get() : null;
            boolean answered = fate == Fate.ANSWERED || fate == Fate.REPEATED_LATE;
            outcomes.add(
                    answered && reply != null
                            ? new Outcome(reply, null)
                            : new Outcome(null, new HoldfastException(Category.RETRY, "no answer")));
        }
        return outcomes;
    }

    /** The time until which a lease may be taken is by the server's clock, which does not move here: see {@link ServerClock}. */
    private static Call exactTime(Call call) {
        if (!call.script().name().equals("join.lua")) {
            return call;
        }
        long lease = Long.parseLong(new String(call.arguments().get(1), UTF_8));
        return withValidUntil(call, System.currentTimeMillis() + lease);
    }

    private static Call aged(Call call, long by) {
        return call.script().name().equals("join.lua")
                ? withValidUntil(
                        call, Long.parseLong(new String(call.arguments().get(2), UTF_8)) - by)
                : call;
    }

    private static Call withValidUntil(Call call, long millis) {
        List<byte[]> arguments = new ArrayList<>(call.arguments());
        arguments.set(2, Long.toString(millis).getBytes(UTF_8));
        return new Call(call.script(), call.keys(), arguments);
    }
}
