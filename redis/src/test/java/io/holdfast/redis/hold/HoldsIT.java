package io.holdfast.redis.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import io.holdfast.ReclaimReason;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.redis.hold.Holds.Condition;
import io.holdfast.redis.hold.Settlement.Result;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.testkit.SharedRedis;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** What the mechanism promises to everything that is built on it, whatever a thing of a set may be. */
class HoldsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final Duration LEASE = Duration.ofSeconds(9);
    private static final Duration GRACE = Duration.ofSeconds(5);
    private static final Duration CLAIM = Duration.ofSeconds(6);
    private static final int ATTEMPTS = 2;
    private static final int SHARDS = 2;

    private final ManualTime time = new ManualTime();
    private final List<Holds> all = new ArrayList<>();
    private RedisLink link;
    private Recorder recorder;

    @BeforeEach
    void open() {
        link = RedisLink.connect(
                Settings.none().set(LinkSettings.URI, redis.uri().toString()));
        recorder = new Recorder(link);
    }

    @AfterEach
    void close() {
        link.close();
    }

    /** Remembers every call, so that it can be sent again. */
    private record Recorder(RedisLink link, List<Call> sent) implements ScriptCaller {

        Recorder(RedisLink link) {
            this(link, new ArrayList<>());
        }

        @Override
        public Reply call(Call call) {
            sent.add(call);
            return link.call(call);
        }

        @Override
        public List<Outcome> callAll(List<Call> calls) {
            sent.addAll(calls);
            return link.callAll(calls);
        }

        Reply again(String script) {
            return link.call(sent.stream()
                    .filter(call -> call.script().name().equals(script))
                    .reduce((first, second) -> second)
                    .orElseThrow());
        }
    }

    private Holds holds(String name) {
        Holds holds = new Holds(
                recorder,
                new HoldSet(ThingId.Kind.SESSION, "contract", SHARDS, HoldSet.Mode.HOLDERS),
                new HoldRules(LEASE, GRACE, CLAIM, ATTEMPTS, false, 1_000, List.of()),
                HolderId.newIncarnation(name),
                time,
                new SecureRandom(),
                ReclaimReason.CLOSED);
        holds.start();
        all.add(holds);
        if (all.size() == 1) {
            pass(LEASE.plusSeconds(1), holds); // a new set proves nothing for one lease
        }
        return holds;
    }

    /** Time passes, and the given ones give a sign of life each second. */
    private void pass(Duration duration, Holds... living) {
        for (long second = 0; second < duration.toSeconds(); second++) {
            time.advance(Duration.ofSeconds(1));
            try (Jedis jedis = redis.client()) {
                ServerClock.advance(jedis, Duration.ofSeconds(1));
            }
            for (Holds holds : living) {
                holds.heartbeat();
                holds.lapse();
            }
        }
    }

    private Claim claimOnly(Holds holds) {
        List<Claim> claims = holds.claim(10).claims();
        assertThat(claims).hasSize(1);
        return claims.getFirst();
    }

    private Claim dueClaim(Holds holds, String id) {
        holds.acquire(id);
        holds.release(id);
        pass(GRACE, holds);
        return claimOnly(holds);
    }

    @Test
    void aHoldTakenTwiceIsOneHoldAndOneReleaseEndsIt() {
        Holds a = holds("a");
        Held first = a.acquire("x");
        assertThat(first.opened()).isTrue();
        Held second = a.acquire("x");
        assertThat(second.opened()).isFalse();
        assertThat(second.holders()).isEqualTo(1);
        assertThat(second.epoch()).isEqualTo(first.epoch());
        a.release("x");
        a.release("x");
        pass(GRACE, a);
        assertThat(claimOnly(a).id()).isEqualTo("x");
    }

    @Test
    void nothingIsClaimedWhileALivingLeaseHoldsIt() {
        Holds a = holds("a");
        Holds b = holds("b");
        a.acquire("x");
        assertThat(b.acquire("x").holders()).isEqualTo(2);
        a.release("x");
        pass(GRACE.plus(LEASE), a, b);
        assertThat(a.claim(10).claims()).isEmpty();
        b.release("x");
        pass(GRACE.minusSeconds(1), a, b);
        assertThat(a.claim(10).claims()).as("in its grace").isEmpty();
        b.acquire("x");
        pass(GRACE, a, b);
        assertThat(a.claim(10).claims()).as("the grace was cancelled").isEmpty();
    }

    @Test
    void whatADeadInstanceHeldIsReleasedByAnotherAndThenDue() {
        Holds dead = holds("dead");
        Holds other = holds("other");
        for (int i = 0; i < 300; i++) {
            dead.acquire("x" + i);
        }
        pass(LEASE.plusSeconds(2), other);
        while (other.lapse().more()) {
            // bounded steps
        }
        pass(GRACE.plusSeconds(1), other);
        List<String> claimed = new ArrayList<>();
        for (List<Claim> claims = other.claim(100).claims();
                !claims.isEmpty();
                claims = other.claim(100).claims()) {
            claims.forEach(claim -> claimed.add(claim.id()));
        }
        assertThat(claimed).hasSize(300).doesNotHaveDuplicates();
    }

    @Test
    void aLapseStepIsBounded() {
        Holds dead = holds("dead");
        Holds other = holds("other");
        for (int shard = 0; shard < SHARDS; shard++) {
            int here = shard;
            List<String> ids = java.util.stream.IntStream.range(0, 4 * Holds.LAPSE_BUDGET)
                    .mapToObj(i -> "x" + i)
                    .filter(id -> dead.set().shardOf(id) == here)
                    .toList();
            dead.acquireAll(shard, ids);
        }
        for (int i = 0; i < LEASE.toSeconds() + 1; i++) {
            time.advance(Duration.ofSeconds(1));
            try (Jedis jedis = redis.client()) {
                ServerClock.advance(jedis, Duration.ofSeconds(1));
            }
            other.heartbeat();
        }
        Holds.Round step = other.lapse();
        assertThat(step.lapsed()).isEqualTo(SHARDS);
        assertThat(step.released()).isBetween(1L, (long) SHARDS * Holds.LAPSE_BUDGET);
        assertThat(step.more()).isTrue();
        long released = step.released();
        while (step.more()) {
            step = other.lapse();
            released += step.released();
        }
        assertThat(released).isEqualTo(4L * Holds.LAPSE_BUDGET);
    }

    @Test
    void aLapsedLeaseIsDeadForGoodAndItsLateCallsChangeNothing() {
        Holds late = holds("late");
        Holds other = holds("other");
        late.acquire("x");
        Reply release = recorder.again("acquire.lua");
        assertThat(release.text()).startsWith("OK");
        pass(LEASE.plusSeconds(2), other);
        assertThat(recorder.again("acquire.lua").text()).isEqualTo("LAPSED");
        pass(GRACE.plusSeconds(1), other);
        assertThat(claimOnly(other).id()).isEqualTo("x");
        assertThat(late.heartbeat()).containsOnly(Condition.REJOINED);
    }

    @Test
    void anInstanceStopsTrustingItsHoldsBeforeTheServerCouldEndThem() {
        Holds a = holds("a");
        a.acquire("x");
        a.heartbeat();
        assertThat(a.trusts("x")).isTrue();
        time.advance(LEASE);
        assertThat(a.trusts("x")).isFalse();
    }

    @Test
    void anOlderCallIsRefusedAndARepeatAnswersTheSame() {
        Holds a = holds("a");
        Held held = a.acquire("x");
        Call acquire = recorder.sent().getLast();
        assertThat(Held.parse("x", link.call(acquire).text().split("\n")[2], "").epoch())
                .isEqualTo(held.epoch());
        a.release("x");
        assertThat(link.call(acquire).text()).as("late acquire").isEqualTo("STALE");
        pass(GRACE, a);
        assertThat(claimOnly(a).id()).isEqualTo("x");
    }

    @Test
    void aThingHasOneClaimAtATimeAndTokensGrow() {
        Holds a = holds("a");
        Holds b = holds("b");
        Claim first = dueClaim(a, "x");
        assertThat(b.claim(10).claims()).isEmpty();
        pass(CLAIM.plusSeconds(1), a, b);
        Claim second = claimOnly(b);
        assertThat(second.epoch()).isEqualTo(first.epoch());
        assertThat(second.token()).isGreaterThan(first.token());
        assertThat(second.attempt()).isEqualTo(2);
        assertThat(a.settle(Settlement.commit(first)))
                .as("with a token that is not the current one")
                .isEqualTo(Result.STALE);
        assertThat(b.settle(Settlement.commit(second))).isEqualTo(Result.DONE);
        assertThat(b.settle(Settlement.commit(second))).as("repeated").isEqualTo(Result.ALREADY);
        assertThat(a.settle(Settlement.commit(first))).isEqualTo(Result.ALREADY);
    }

    @Test
    void aClaimThatIsRenewedIsNotGivenToAnother() {
        Holds a = holds("a");
        Holds b = holds("b");
        Claim claim = dueClaim(a, "x");
        for (int i = 0; i < 3; i++) {
            pass(CLAIM.minusSeconds(1), a, b);
            assertThat(a.renewAll(List.of(claim))).containsEntry(claim, Result.DONE);
            assertThat(b.claim(10).claims()).isEmpty();
        }
        assertThat(a.settle(Settlement.commit(claim))).isEqualTo(Result.DONE);
    }

    @Test
    void failuresCountAndBecomeADeadLetterButWhatCouldNotBeTriedDoesNot() {
        Holds a = holds("a");
        Claim claim = dueClaim(a, "x");
        for (int i = 0; i < 5; i++) {
            assertThat(a.settle(Settlement.later(claim, 1_000))).isEqualTo(Result.DONE);
            pass(Duration.ofSeconds(2), a);
            claim = claimOnly(a);
            assertThat(claim.attempt()).isEqualTo(1);
        }
        assertThat(a.settle(Settlement.retry(claim, 1_000, "planted"))).isEqualTo(Result.DONE);
        pass(Duration.ofSeconds(2), a);
        Claim last = claimOnly(a);
        assertThat(last.attempt()).isEqualTo(ATTEMPTS);
        assertThat(a.settle(Settlement.retry(last, 1_000, "planted"))).isEqualTo(Result.DEAD_LETTER);
        pass(Duration.ofSeconds(60), a);
        assertThat(a.claim(10).claims()).isEmpty();
    }

    @Test
    void whatIsAcquiredWhileItClosesIsANewLifeAndSaysThatAnOlderOneIsUnfinished() {
        Holds a = holds("a");
        Claim claim = dueClaim(a, "x");
        Held next = a.acquire("x");
        assertThat(next.opened()).isTrue();
        assertThat(next.epoch()).isGreaterThan(claim.epoch());
        assertThat(next.unfinished()).isEqualTo(1);
        assertThat(a.settle(Settlement.commit(claim))).isEqualTo(Result.DONE);
        assertThat(a.acquire("x").unfinished()).isZero();
    }

    @Test
    void dataGoesWithTheLifeThatItBelongsTo() {
        Holds a = holds("a");
        Held held = a.acquire("x");
        a.put("x", held.epoch(), 100, Map.of("where", "rack 4"));
        assertThatThrownBy(() -> a.put("x", held.epoch(), 10, Map.of("more", "than ten bytes")))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.FULL));
        assertThatThrownBy(() -> a.put("x", held.epoch() + 1, 100, Map.of("other", "life")))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.GONE));
        a.release("x");
        pass(GRACE, a);
        assertThat(claimOnly(a).data()).containsExactly(Map.entry("where", "rack 4"));
    }

    @Test
    void aReplacedStoreProvesNothingForOneLease() {
        Holds a = holds("a");
        Holds b = holds("b");
        a.acquire("held");
        b.acquire("left");
        b.release("left");
        pass(GRACE.plusSeconds(1), a, b);
        try (Jedis jedis = redis.client()) {
            for (int shard = 0; shard < SHARDS; shard++) {
                jedis.hset("hf:{session:contract:" + shard + "}:meta", "run", "the id of the server before");
            }
        }
        assertThat(b.claim(10).claims()).isEmpty();
        pass(LEASE.minusSeconds(1), b);
        assertThat(b.claim(10).claims()).as("still within the lease").isEmpty();
        assertThat(a.heartbeat()).as("a late renewal").containsOnly(Condition.RENEWED);
        pass(Duration.ofSeconds(2), a, b);
        assertThat(claimOnly(b).id()).isEqualTo("left");
    }
}
