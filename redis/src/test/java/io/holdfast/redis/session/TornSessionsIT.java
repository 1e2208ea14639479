package io.holdfast.redis.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.CutScript;
import io.holdfast.redis.hold.HoldVerifier;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.session.Stage.Actor;
import io.holdfast.testkit.LogLines;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** A script that was cut inside: the next call notices, the shard is rebuilt, nothing ends early and nothing stays for ever. */
class TornSessionsIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final Duration POLL = Duration.ofSeconds(2);
    private static final int MOST_WRITES = 16;

    /** Every script of holds that makes more than one write. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "join.lua",
                "leave.lua",
                "acquire.lua",
                "release.lua",
                "put.lua",
                "lapse.lua",
                "claim.lua",
                "settle.lua",
                "rebuild.lua"
            })
    void scriptThatIsCutAnywhereEndsNothingEarlyAndLeavesNothing(String script) {
        int cuts = 0;
        for (int writes = 0; writes <= MOST_WRITES; writes++) {
            try (Jedis jedis = redis.client()) {
                jedis.flushAll();
            }
            cuts += new Story(script, writes).tell() ? 1 : 0;
        }
        assertThat(cuts).as("places at which %s was cut", script).isPositive();
    }

    /** What an acquire filed before it was cut is gone with the lease of its caller, which does not call again. */
    @Test
    void acquireThatIsCutAndNotRepeatedLeavesNothing() {
        try (Jedis jedis = redis.client();
                Stage stage = new Stage(redis.server())) {
            jedis.flushAll();
            Actor a = stage.actor("a");
            Actor b = stage.actor("b");
            stage.pass(Stage.LEASE);
            b.loses = call -> call.script().name().equals("acquire.lua") && CutScript.cut(jedis, call, 1);
            assertThatThrownBy(() -> b.acquire("half")).isInstanceOf(HoldfastException.class);
            String things = "hf:{session:rooms:" + a.sessions.view().set().shardOf("half") + "}:";
            assertThat(jedis.zscore(things + "due", "=half")).as("it was filed").isNegative();
            assertThat(jedis.hexists(things + "things", "=half")).isFalse();
            b.die();
            stage.pass(Stage.LEASE.multipliedBy(3).plus(Stage.GRACE).plus(Stage.CLAIM));
            assertThat(jedis.zscore(things + "due", "=half")).isNull();
            assertThat(jedis.hexists(things + "things", "=half")).isFalse();
            Story.isEmptyAndSound(stage, a);
            assertThat(a.sessions.figures().negatives()).isZero();
        }
    }

    /** What two instances do with a few sessions, with one call of one script cut after some of its writes. */
    private static final class Story {
        private final String script;
        private final int writes;
        private boolean done;
        private boolean cut;

        Story(String script, int writes) {
            this.script = script;
            this.writes = writes;
        }

        boolean tell() {
            try (Stage stage = new Stage(redis.server())) {
                Actor a = stage.actor("a", builder -> builder.set(SessionSettings.ATTEMPTS, 99));
                Actor b = stage.actor("b", builder -> builder.set(SessionSettings.ATTEMPTS, 99));
                stage.pass(Stage.LEASE);
                if (script.equals("rebuild.lua")) {
                    tearFirst();
                }
                arm(a);
                arm(b);
                SessionHold kept = patiently(() -> a.acquire("kept"));
                SessionHold shared = patiently(() -> a.acquire("shared"));
                SessionHold others = patiently(() -> b.acquire("shared"));
                patiently(() -> {
                    kept.put("where", "rack 4");
                    return kept;
                });
                for (int i = 0; i < 6; i++) {
                    String id = "s" + i;
                    patiently(() -> (i(id) % 2 == 0 ? a : b).acquire(id)).close();
                }
                shared.close();
                stage.losesAtStart = this::cuts;
                Actor c = patiently(() -> stage.actor("c"));
                patiently(() -> c.acquire("of the dead"));
                c.die();
                stage.pass(Stage.LEASE.multipliedBy(4).plus(Stage.GRACE).plus(Stage.CLAIM));
                List<String> closed = Stream.concat(a.closedIds().stream(), b.closedIds().stream())
                        .toList();
                assertThat(closed).as("held all the time").doesNotContain("kept", "shared");
                assertThat(closed).contains("s0", "s1", "s2", "s3", "s4", "s5", "of the dead");
                assertThat(others.isValid()).isTrue();
                assertThat(kept.isValid()).isTrue();
                assertThat(kept.data()).containsEntry("where", "rack 4");
                kept.close();
                others.close();
                stage.pass(Stage.LEASE.multipliedBy(3).plus(Stage.GRACE).plus(Stage.CLAIM));
                patiently(() -> {
                    a.sessions.close();
                    return a;
                });
                stage.pass(Stage.LEASE.multipliedBy(3).plus(POLL));
                isEmptyAndSound(stage, b);
                return cut;
            }
        }

        private static int i(String id) {
            return id.charAt(1) - '0';
        }

        private void arm(Actor actor) {
            actor.loses = this::cuts;
        }

        /** The first call of the script is cut, and its caller gets no answer. */
        private boolean cuts(Call call) {
            if (done || !call.script().name().equals(script)) {
                return false;
            }
            done = true;
            try (Jedis jedis = redis.client()) {
                cut = CutScript.cut(jedis, call, writes);
            }
            return true;
        }

        /** So that there is something to rebuild. */
        private static void tearFirst() {
            try (Jedis jedis = redis.client()) {
                for (int shard = 0; shard < Stage.SHARDS; shard++) {
                    jedis.hincrBy("hf:{session:rooms:" + shard + "}:things", "T", 1);
                }
            }
        }

        private static <T> T patiently(Supplier<T> call) {
            HoldfastException last = null;
            for (int i = 0; i < 5; i++) {
                try {
                    return call.get();
                } catch (HoldfastException e) {
                    assertThat(e.isRetryable()).as("%s", e).isTrue();
                    last = e;
                }
            }
            throw Objects.requireNonNull(last);
        }

        private static void isEmptyAndSound(Stage stage, Actor b) {
            var report = new HoldVerifier(stage.link, b.sessions.view().set(), count -> {}).run();
            assertThat(report.findings()).isEmpty();
            assertThat(report.things()).isZero();
            assertThat(report.closing()).isZero();
            for (State state : State.values()) {
                assertThat(b.sessions.list(state, 10)).as("%s", state).isEmpty();
            }
            assertThat(b.sessions.view().stats().leases()).isEqualTo(Stage.SHARDS);
        }
    }

    /** The real thing: the log is cut in the middle of a script, and the server is started twice. */
    @Test
    void logThatIsCutInsideAScriptIsNoticedAfterTheSecondRestart() throws Exception {
        try (LogLines log = LogLines.of("io.holdfast.redis.hold");
                RedisServer server = RedisServer.setup().durable().start()) {
            try (Holdfast holdfast = Holdfast.connect(server.uri().toString())) {
                Sessions rooms = rooms(holdfast, new CopyOnWriteArrayList<>());
                SessionHold kept = rooms.acquire("kept");
                SessionHold torn = rooms.acquire("torn");
                torn.put("where", "in half");
                server.kill();
                cutInside(server.folder(), "in half");
                server.restart();
                SessionHold later = acquirePatiently(rooms, "later");
                server.restart();
                SessionHold again = acquirePatiently(rooms, "again");
                assertThat(again.isValid()).isTrue();
                await().atMost(Duration.ofSeconds(20)).until(kept::isValid);
                try (Jedis jedis = server.client()) {
                    await().atMost(Duration.ofSeconds(20))
                            .untilAsserted(() -> assertThat(jedis.hget("hf:{session:rooms:0}:things", "T"))
                                    .isEqualTo(jedis.hget("hf:{session:rooms:0}:things", "U")));
                }
                assertThat(new HoldVerifier(holdfast.link(), rooms.view().set(), count -> {})
                                .run()
                                .findings())
                        .isEmpty();
                assertThat(rooms.count("kept")).isEqualTo(1);
                assertThat(rooms.count("later")).isEqualTo(1);
                assertThat(List.of(torn.id(), later.id())).containsExactly("torn", "later");
                assertThat(log.all()).anySatisfy(line -> assertThat(line).contains("was cut inside a script"));
            }
        }
    }

    private static Sessions rooms(Holdfast holdfast, List<String> closed) {
        return holdfast.sessions("rooms")
                .set(SessionSettings.SHARDS, 1)
                .lease(Duration.ofSeconds(3))
                .grace(Duration.ofSeconds(1))
                .onClose(claim -> closed.add(claim.id()))
                .start();
    }

    private static SessionHold acquirePatiently(Sessions rooms, String id) {
        for (int i = 0; ; i++) {
            try {
                return rooms.acquire(id);
            } catch (HoldfastException e) {
                if (!e.isRetryable() || i == 30) {
                    throw e;
                }
            }
        }
    }

    /** Leaves the first command of the script that wrote this value, and drops the rest. */
    private static void cutInside(Path folder, String value) throws IOException {
        Path log;
        try (Stream<Path> files = Files.walk(folder)) {
            log = files.filter(file -> file.toString().endsWith(".incr.aof"))
                    .findFirst()
                    .orElseThrow();
        }
        String text = Files.readString(log, StandardCharsets.ISO_8859_1);
        int torn = text.lastIndexOf(value); // HINCRBY comes before it, HSET of the lease after it
        int begin = text.lastIndexOf("MULTI", torn);
        assertThat(begin).isPositive();
        try (FileChannel file = FileChannel.open(log, StandardOpenOption.WRITE)) {
            file.truncate(torn);
        }
    }
}
