package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.hold.CallLog;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * A network that loses requests, loses replies, and delivers calls again or much later. At times it is slow, or no replica is
 * there: then a call is done and not acknowledged.
 */
final class FaultyCalls {

    /** What a round trip takes while the network is slow. */
    static final Duration ROUND_TRIP = Duration.ofMillis(100);
    /** In one operation of the simulation: duties that become due while others wait for the network must come to an end. */
    private static final int ROUND_TRIPS_MAX = 10;

    /** What a call waits for a replica. */
    private static final Duration WAIT = Duration.ofSeconds(1);

    private final RedisLink link;
    private final Consumer<Duration> pass;
    private final RandomGenerator random;
    private final CallLog log;
    private final List<Call> late = new ArrayList<>();
    private boolean faulty = true;
    boolean slow;
    private int roundTrips;
    private boolean callerWaits;
    boolean replicaDown;

    /** @param pass lets time pass */
    FaultyCalls(RedisLink link, RandomGenerator random, CallLog log, Consumer<Duration> pass) {
        this.link = link;
        this.pass = pass;
        this.random = random;
        this.log = log;
    }

    boolean isFaulty() {
        return faulty;
    }

    void heal() {
        faulty = false;
        slow = false;
        replicaDown = false;
    }

    /** Notes between the calls what an instance did. */
    void event(int instance, String what) {
        log.add("i" + instance + " " + what);
    }

    void beginOperation() {
        roundTrips = 0;
    }

    /** Something that was on its way for long arrives. */
    void deliverOne() {
        if (!late.isEmpty()) {
            Call call = late.remove(random.nextInt(late.size()));
            Outcome outcome = link.callAll(List.of(call)).getFirst();
            note("late", call, "", outcome);
        }
    }

    void deliverAll() {
        while (!late.isEmpty()) {
            deliverOne();
        }
    }

    /** The network as one instance sees it; a dead instance's calls go nowhere. */
    ScriptCaller of(String name, BooleanSupplier dead) {
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                return sendAll(name, dead, List.of(call)).getFirst().get();
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                return sendAll(name, dead, calls);
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

        boolean answers() {
            return this == ANSWERED || this == REPEATED_LATE;
        }
    }

    private Fate fate() {
        int dice = faulty ? random.nextInt(100) : 100;
        return dice < 5
                ? Fate.REQUEST_LOST
                : dice < 11 ? Fate.REPLY_LOST : dice < 15 ? Fate.LATE : dice < 20 ? Fate.REPEATED_LATE : Fate.ANSWERED;
    }

    private List<Outcome> sendAll(String name, BooleanSupplier dead, List<Call> calls) {
        List<Fate> fates = new ArrayList<>();
        List<Call> executed = new ArrayList<>();
        for (Call call : calls) {
            Fate fate = dead.getAsBoolean() ? Fate.REQUEST_LOST : fate();
            fates.add(fate);
            if (fate.executes()) {
                executed.add(call);
            }
            if (fate == Fate.LATE || fate == Fate.REPEATED_LATE) {
                late.add(call);
            }
        }
        if (slow && roundTrips++ < ROUND_TRIPS_MAX) {
            pass.accept(ROUND_TRIP);
        }
        List<Outcome> outcomes = new ArrayList<>();
        Iterator<Outcome> results = (executed.isEmpty() ? List.<Outcome>of() : link.callAll(executed)).iterator();
        for (int i = 0; i < calls.size(); i++) {
            Outcome outcome = fates.get(i).executes() ? results.next() : noAnswer();
            note(name, calls.get(i), fates.get(i).name() + (replicaDown ? " without replica" : ""), outcome);
            outcomes.add(!fates.get(i).answers() ? noAnswer() : replicaDown ? withoutReplica(outcome) : outcome);
        }
        return outcomes;
    }

    private void note(String name, Call call, String fate, Outcome outcome) {
        log.add(name, call, fate, outcome.failure() == null ? outcome.reply() : category(outcome));
    }

    /** What a call comes to that was done, and that no replica has. */
    private Outcome withoutReplica(Outcome outcome) {
        if (outcome.failure() != null) {
            return outcome;
        }
        if (callerWaits) {
            pass.accept(WAIT);
        }
        return Outcome.notReplicated(outcome.get(), "no replica has it");
    }

    /** Does something that waits for the store until a deadline: time passes while it does. */
    void whileCallerWaits(Runnable body) {
        callerWaits = true;
        try {
            body.run();
        } finally {
            callerWaits = false;
        }
    }

    private static Outcome noAnswer() {
        return new Outcome(null, new HoldfastException(Category.RETRY, "no answer"));
    }

    private static String category(Outcome outcome) {
        return outcome.failure() == null ? "" : outcome.failure().category().name();
    }
}
