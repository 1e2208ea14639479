package io.holdfast.redis.session;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * A network that loses requests, loses replies, and delivers calls again or much later; and a clock that can be moved:
 * instead of the server's time going on, everything that the shards remember of time goes back.
 */
final class FaultyCalls {

    private static final String AGE = """
        for i = 1, #KEYS, 4 do
          for j = 0, 2 do
            local all = redis.call('ZRANGE', KEYS[i + j], 0, -1, 'WITHSCORES')
            for k = 1, #all, 2 do
              if tonumber(all[k + 1]) > 0 then
                redis.call('ZADD', KEYS[i + j], all[k + 1] - ARGV[1], all[k])
              end
            end
          end
          for _, field in ipairs({'seen', 'quiet'}) do
            local value = redis.call('HGET', KEYS[i + 3], field)
            if value then
              redis.call('HSET', KEYS[i + 3], field, value - ARGV[1])
            end
          end
        end
        """;

    /** A call that is on its way, and when it was sent. */
    private record Late(Call call, long sentMillis) {}

    private final RedisLink link;
    private final RandomGenerator random;
    private final ServedModel model;
    private final Duration claim;
    private final List<Late> late = new ArrayList<>();
    private boolean faulty = true;

    FaultyCalls(RedisLink link, RandomGenerator random, ServedModel model, Duration claim) {
        this.link = link;
        this.random = random;
        this.model = model;
        this.claim = claim;
    }

    boolean isFaulty() {
        return faulty;
    }

    void heal() {
        faulty = false;
    }

    /** Moves the clock that the shards live by. */
    void age(Duration by, redis.clients.jedis.Jedis jedis, String set, int shards) {
        List<String> keys = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            for (String part : List.of("due", "deadlines", "claims", "meta")) {
                keys.add("hf:{session:" + set + ":" + shard + "}:" + part);
            }
        }
        jedis.eval(AGE, keys, List.of(Long.toString(by.toMillis())));
        model.advance(by);
    }

    /** Something that was on its way for long arrives. */
    void deliverOne() {
        if (!late.isEmpty()) {
            Late one = late.remove(random.nextInt(late.size()));
            execute(aged(one.call(), model.now() - one.sentMillis()));
        }
    }

    void deliverAll() {
        while (!late.isEmpty()) {
            deliverOne();
        }
    }

    /** The network as one instance sees it; a dead instance's calls go nowhere. */
    ScriptCaller of(SimulatedInstance instance) {
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                return send(instance, call);
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                if (!faulty && !instance.isDead()) {
                    return sendAll(instance, calls);
                }
                List<Outcome> outcomes = new ArrayList<>();
                for (Call call : calls) {
                    try {
                        outcomes.add(new Outcome(send(instance, call), null));
                    } catch (HoldfastException e) {
                        outcomes.add(new Outcome(null, e));
                    }
                }
                return outcomes;
            }
        };
    }

    private Reply send(SimulatedInstance instance, Call given) {
        Call call = exactTime(given);
        if (instance.isDead()) {
            throw noAnswer();
        }
        long sent = model.now();
        int dice = faulty ? random.nextInt(100) : 100;
        if (dice < 4) {
            throw noAnswer();
        } else if (dice < 8) {
            execute(call);
            throw noAnswer();
        } else if (dice < 11) {
            late.add(new Late(call, sent));
            throw noAnswer();
        } else if (dice < 15) {
            late.add(new Late(call, sent));
        }
        return told(instance, call, sent, execute(call));
    }

    /** The same without faults, in one round trip. */
    private List<Outcome> sendAll(SimulatedInstance instance, List<Call> calls) {
        long sent = model.now();
        List<Outcome> outcomes = link.callAll(calls);
        for (int i = 0; i < calls.size(); i++) {
            told(
                    instance,
                    calls.get(i),
                    sent,
                    observed(calls.get(i), outcomes.get(i).get()));
        }
        return outcomes;
    }

    private static Reply told(SimulatedInstance instance, Call call, long sent, Reply reply) {
        String script = call.script().name();
        if ((script.equals("renew.lua") || script.equals("join.lua"))
                && reply.text(0).equals("OK")) {
            instance.renewed(call.keys().getFirst(), sent, script.equals("join.lua"));
        }
        return reply;
    }

    private static HoldfastException noAnswer() {
        return new HoldfastException(Category.RETRY, "no answer");
    }

    private Reply execute(Call call) {
        return observed(call, link.call(call));
    }

    private Reply observed(Call call, Reply reply) {
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
        return reply;
    }

    private void observeSettled(Call call, Reply reply) {
        List<String> arguments =
                call.arguments().stream().map(bytes -> new String(bytes, UTF_8)).toList();
        for (int i = 0; i < reply.size(); i++) {
            String verb = arguments.get(6 + 4 * i);
            String key = arguments.get(7 + 4 * i);
            if (reply.text(i).equals("OK")) {
                if (verb.equals("commit")) {
                    model.committed(key);
                } else {
                    model.settled(
                            key, Long.parseLong(arguments.get(8 + 4 * i)), Long.parseLong(arguments.get(9 + 4 * i)));
                }
            }
        }
    }

    /** The time until which a lease may be taken is by the server's clock, which does not move here: see {@link #age}. */
    private Call exactTime(Call call) {
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
