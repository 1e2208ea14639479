package io.holdfast.redis.session;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.hold.CallLog;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.hold.ServerClock;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.random.RandomGenerator;
import redis.clients.jedis.Jedis;

/**
 * A network that loses requests, loses replies, and delivers calls again or much later; and a clock that can be moved.
 */
final class FaultyCalls {

    private final RedisLink link;
    private final RandomGenerator random;
    private final ServedModel model;
    private final Duration claim;
    private final CallLog log;
    private final List<Call> late = new ArrayList<>();
    private boolean faulty = true;

    FaultyCalls(RedisLink link, RandomGenerator random, ServedModel model, Duration claim, CallLog log) {
        this.link = link;
        this.random = random;
        this.model = model;
        this.claim = claim;
        this.log = log;
    }

    boolean isFaulty() {
        return faulty;
    }

    void heal() {
        faulty = false;
    }

    /** Moves the clock that the shards live by. */
    void age(Duration by, Jedis jedis) {
        ServerClock.advance(jedis, by);
        model.advance(by);
    }

    /** A replica takes over: the same data, and another run id. */
    void replaceStore(Jedis jedis, String set, int shards, Duration lease) {
        for (int shard = 0; shard < shards; shard++) {
            jedis.hset("hf:{session:" + set + ":" + shard + "}:meta", "run", "the id of the server before");
        }
        model.storeReplaced(lease);
    }

    /** Something that was on its way for long arrives. */
    void deliverOne() {
        if (!late.isEmpty()) {
            Call call = late.remove(random.nextInt(late.size()));
            Outcome outcome = link.callAll(List.of(call)).getFirst();
            log.add("late", call, "", outcome.reply());
            if (outcome.failure() == null) {
                observed(call, outcome.get());
            } else if (outcome.failure().category() != Category.FULL) {
                throw outcome.failure();
            }
        }
    }

    void deliverAll() {
        while (!late.isEmpty()) {
            deliverOne();
        }
    }

    /** The network as one instance sees it; a dead instance's calls go nowhere. */
    ScriptCaller of(SimulatedInstance instance) {
        int life = instance.life();
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                return sendAll(instance, life, List.of(call)).getFirst().get();
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                return sendAll(instance, life, calls);
            }
        };
    }

    /** What becomes of a call that was sent. */
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

    /** Taking a lease is rare, so that it meets with faults more often. */
    private Fate fate(Call call) {
        int dice = faulty ? random.nextInt(call.script().name().equals("join.lua") ? 30 : 100) : 100;
        return dice < 4
                ? Fate.REQUEST_LOST
                : dice < 8 ? Fate.REPLY_LOST : dice < 11 ? Fate.LATE : dice < 15 ? Fate.REPEATED_LATE : Fate.ANSWERED;
    }

    private List<Outcome> sendAll(SimulatedInstance instance, int life, List<Call> calls) {
        if (instance.isDead() || instance.life() != life) {
            return calls.stream().map(call -> new Outcome(null, noAnswer())).toList();
        }
        long sent = model.now();
        List<Fate> fates = new ArrayList<>();
        List<Call> executed = new ArrayList<>();
        for (Call call : calls) {
            Fate fate = fate(call);
            fates.add(fate);
            if (fate.executes()) {
                executed.add(call);
            }
            if (fate == Fate.LATE || fate == Fate.REPEATED_LATE) {
                late.add(call);
            }
        }
        Iterator<Outcome> results = (executed.isEmpty() ? List.<Outcome>of() : link.callAll(executed)).iterator();
        List<Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < calls.size(); i++) {
            Outcome outcome = fates.get(i).executes() ? results.next() : new Outcome(null, noAnswer());
            if (outcome.failure() == null) {
                observed(calls.get(i), outcome.get());
            }
            log.add("i" + instance.number, calls.get(i), fates.get(i).name(), outcome.reply());
            boolean answered = fates.get(i) == Fate.ANSWERED || fates.get(i) == Fate.REPEATED_LATE;
            if (answered && outcome.failure() == null) {
                told(instance, calls.get(i), sent, outcome.get());
            }
            outcomes.add(answered ? outcome : new Outcome(null, noAnswer()));
        }
        return outcomes;
    }

    /** The instance gets the answer, and the simulation keeps its own account of what that proves. */
    private static void told(SimulatedInstance instance, Call call, long sent, Reply reply) {
        List<String> arguments = texts(call.arguments());
        switch (call.script().name()) {
            case "renew.lua", "join.lua" -> {
                if (reply.text(0).equals("OK")) {
                    instance.renewed(new String(call.keys().getFirst(), UTF_8), arguments.getFirst(), sent);
                }
            }
            case "acquire.lua", "acquire-open.lua" -> {
                String[] lines = reply.text().split("\n", -1);
                for (int i = 2; i < lines.length; i++) {
                    if (!lines[i].equals("GONE") && !lines[i].equals("FULL")) {
                        long epoch = Long.parseLong(lines[i].substring(0, 16));
                        instance.asserted(arguments.get(1 + i).substring(1), arguments.get(2), epoch);
                    }
                }
            }
            default -> {}
        }
    }

    private static List<String> texts(List<byte[]> bytes) {
        return bytes.stream().map(one -> new String(one, UTF_8)).toList();
    }

    private static HoldfastException noAnswer() {
        return new HoldfastException(Category.RETRY, "no answer");
    }

    private void observed(Call call, Reply reply) {
        switch (call.script().name()) {
            case "claim.lua" -> {
                for (int i = 6; i + 2 < reply.size(); i += 3) {
                    model.claimed(
                            reply.text(i), Long.parseLong(reply.text(i + 1).split(" ")[0]), claim);
                }
            }
            case "settle.lua" -> observeSettled(call, reply);
            default -> {}
        }
    }

    private void observeSettled(Call call, Reply reply) {
        List<String> arguments = texts(call.arguments());
        for (int i = 0; i < reply.size(); i++) {
            String verb = arguments.get(6 + 5 * i);
            String key = arguments.get(7 + 5 * i);
            if (reply.text(i).equals("OK")) {
                if (verb.equals("commit")) {
                    model.committed(key, Long.parseLong(arguments.get(8 + 5 * i)));
                } else {
                    model.settled(
                            key, Long.parseLong(arguments.get(8 + 5 * i)), Long.parseLong(arguments.get(9 + 5 * i)));
                }
            }
        }
    }
}
