package io.holdfast.redis.session;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.hold.ServerClock;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import redis.clients.jedis.Jedis;

/** Instances of the real code on a real server, with time in the hands of the test. */
final class Stage implements AutoCloseable {

    static final Duration LEASE = Duration.ofSeconds(9);
    static final Duration GRACE = Duration.ofSeconds(5);
    static final Duration CLAIM = Duration.ofSeconds(6);
    static final int SHARDS = 2;
    static final String SET = "rooms";

    final ManualTime time = new ManualTime();
    final RedisLink link;
    private final RedisServer server;
    private Duration ahead = Duration.ZERO;
    /** Calls of instances that start from now on. */
    Predicate<Call> losesAtStart = call -> false;

    private final List<Actor> actors = new ArrayList<>();

    Stage(RedisServer server) {
        this.server = server;
        this.link = RedisLink.connect(Settings.none()
                .set(LinkSettings.URI, server.uri().toString())
                .set(LinkSettings.TIMEOUT, Duration.ofMillis(500)));
    }

    Actor actor(String name) {
        return actor(name, builder -> builder);
    }

    /** A new process; the first one waits until the new set believes its deadlines. */
    Actor actor(String name, UnaryOperator<SessionsBuilder> settings) {
        Actor actor = new Actor(name, settings);
        actors.add(actor);
        if (actors.size() == 1) {
            pass(LEASE);
        }
        return actor;
    }

    /** Time passes for everybody, and those that are not stalled do their duties all the while. */
    void pass(Duration duration) {
        for (Duration left = duration; left.isPositive(); ) {
            Duration step = left.compareTo(Duration.ofSeconds(1)) < 0 ? left : Duration.ofSeconds(1);
            passUnattended(step);
            step();
            left = left.minus(step);
        }
    }

    /** Time passes and nobody does anything. */
    void passUnattended(Duration duration) {
        time.advance(duration);
        try (Jedis jedis = server.client()) {
            ahead = ahead.plus(duration);
            ServerClock.ahead(jedis, ahead);
        }
    }

    void step() {
        actors.forEach(Actor::step);
    }

    void stepOnly(Actor actor) {
        actor.step();
    }

    /** The server's clock jumps; that of the instances does not. */
    void jump(Duration by) {
        ahead = ahead.plus(by);
        try (Jedis jedis = server.client()) {
            ServerClock.ahead(jedis, ahead);
        }
    }

    /** Time passes while one instance waits for an answer: the others go on. */
    void passWithout(Actor waiting, Duration duration) {
        for (Duration left = duration; left.isPositive(); left = left.minusSeconds(1)) {
            passUnattended(Duration.ofSeconds(1));
            actors.stream().filter(actor -> actor != waiting).forEach(Actor::step);
        }
    }

    @Override
    public void close() {
        link.close();
    }

    /** One instance. */
    final class Actor implements ScriptCaller {
        final Sessions sessions;
        final DutyRunner duties = DutyRunner.manual(time);
        final Client client;
        final List<SessionHold> kept = new ArrayList<>();
        final List<SessionClaim> closed = new ArrayList<>();
        final List<SessionLost> lost = new ArrayList<>();
        final List<SessionRegained> regained = new ArrayList<>();
        final List<SessionActivation> activated = new ArrayList<>();
        /** Everything that was sent, to be sent again. */
        final List<Call> sent = new ArrayList<>();

        Consumer<SessionClaim> handler = claim -> {};
        Predicate<Call> loses = losesAtStart;
        /** Calls that the server refuses, as it does when memory or disk are full. */
        Predicate<Call> refuses = call -> false;

        boolean stalled;
        boolean dead;

        Actor(String name, UnaryOperator<SessionsBuilder> settings) {
            client = new Client(link, duties, new Notices(), HolderId.newIncarnation(name), Settings.none(), time);
            sessions = settings.apply(new SessionsBuilder(client, SET)
                            .lease(LEASE)
                            .grace(GRACE)
                            .set(SessionSettings.CLAIM, CLAIM)
                            .set(SessionSettings.SHARDS, SHARDS)
                            .set(SessionSettings.CLOSING_WAIT, Duration.ZERO)
                            .through(this)
                            .executor(Runnable::run)
                            .onActivate(activated::add)
                            .onLost(lost::addAll)
                            .onRegained(regained::addAll)
                            .onClose(claim -> {
                                handler.accept(claim);
                                closed.add(claim);
                            }))
                    .start();
        }

        /** Acquires, and keeps the hold: one that is dropped would be released by the garbage collector. */
        SessionHold acquire(String id) {
            SessionHold hold = sessions.acquire(id);
            kept.add(hold);
            return hold;
        }

        private void step() {
            if (!stalled && !dead) {
                duties.runDue();
            }
        }

        /** As kill -9. */
        void die() {
            dead = true;
        }

        List<String> closedIds() {
            return closed.stream().map(SessionClaim::id).toList();
        }

        /** The last call of the named script. */
        Call last(String script) {
            return sent.stream()
                    .filter(call -> call.script().name().equals(script))
                    .reduce((first, second) -> second)
                    .orElseThrow();
        }

        @Override
        public Reply call(Call call) {
            sent.add(call);
            if (dead || loses.test(call)) {
                throw new HoldfastException(HoldfastException.Category.RETRY, "no answer");
            }
            if (refuses.test(call)) {
                throw new HoldfastException(HoldfastException.Category.FULL, "no room");
            }
            return link.call(call);
        }

        @Override
        public List<Outcome> callAll(List<Call> calls) {
            List<Outcome> outcomes = new ArrayList<>();
            for (Call call : calls) {
                try {
                    outcomes.add(new Outcome(call(call), null));
                } catch (HoldfastException e) {
                    outcomes.add(new Outcome(null, e));
                }
            }
            return outcomes;
        }
    }
}
