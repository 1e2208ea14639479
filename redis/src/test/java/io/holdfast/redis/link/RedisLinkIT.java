package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.testkit.FaultProxy;
import io.holdfast.testkit.RedisCluster;
import io.holdfast.testkit.RedisReplication;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ClientKillParams;

/** The link against servers that die, stall, move, fill up and refuse. */
class RedisLinkIT {

    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Script SAMPLE =
            Script.load(RedisLinkIT.class, "sample.lua", "meta values", "name count ids…", "status");

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    @Test
    void scriptIsCalledAndSentAnewAfterTheCacheWasFlushed() {
        try (RedisLink link = connect(redis.uri().toString());
                Jedis jedis = redis.client()) {
            assertThat(sample(link).number(2)).isEqualTo(2);
            jedis.scriptFlush();
            assertThat(sample(link).number(2)).isEqualTo(2);
            jedis.scriptFlush();
            List<RedisLink.Outcome> outcomes = link.callAll(List.of(sampleCall(), sampleCall(), sampleCall()));
            assertThat(outcomes)
                    .allSatisfy(outcome -> assertThat(outcome.get().text(0)).isEqualTo("OK"));
        }
    }

    @Test
    void fieldsBesideAScriptAreWrittenOnceWithItOrNotAtAll() {
        try (RedisLink link = connect(redis.uri().toString());
                Jedis jedis = redis.client()) {
            assertThat(link.call(beside("first")).number(2)).isEqualTo(2);
            assertThat(jedis.hgetAll("hf:{t:x:0}:meta")).containsOnly(Map.entry("field", "first"));
            jedis.scriptFlush();
            assertThat(link.call(beside("second")).number(2)).isEqualTo(2);
            assertThat(link.callAll(List.of(sampleCall(), beside("third"), sampleCall())))
                    .allSatisfy(outcome -> assertThat(outcome.get().number(2)).isEqualTo(2));
            jedis.configSet("maxmemory", "1");
            assertCategory(Category.FULL, () -> link.call(beside("fourth")));
            jedis.configSet("maxmemory", "0");
            assertThat(jedis.hgetAll("hf:{t:x:0}:meta")).containsOnly(Map.entry("field", "third"));
        }
    }

    @Test
    void killedServerGivesRetryAndIsUsedAgainWhenItIsBack() {
        RedisServer server = redis.server();
        try (RedisLink link = connect(server.uri().toString())) {
            callFromMany(link, 8);
            server.kill();
            assertRetry(() -> sample(link));
            assertRetry(() ->
                    link.callAll(List.of(sampleCall(), sampleCall())).getFirst().get());
            server.restart();
            await().ignoreExceptionsMatching(RedisLinkIT::isRetry).untilAsserted(() -> sample(link));
            callFromMany(link, 8);
        }
    }

    @Test
    void stalledServerGivesRetryWithinTheTimeOutAndNoHang() {
        RedisServer server = redis.server();
        try (RedisLink link = connect(server.uri().toString())) {
            callFromMany(link, 4);
            server.stall();
            try (ExecutorService many = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<HoldfastException>> failures = new ArrayList<>();
                for (int i = 0; i < 40; i++) {
                    failures.add(many.submit(() -> catchThrowableOfType(HoldfastException.class, () -> sample(link))));
                }
                for (Future<HoldfastException> failure : failures) {
                    await().atMost(Duration.ofSeconds(20)).until(failure::isDone);
                    assertThat(failure.resultNow().category()).isEqualTo(Category.RETRY);
                }
            } finally {
                server.resume();
            }
            await().ignoreExceptionsMatching(RedisLinkIT::isRetry).untilAsserted(() -> sample(link));
        }
    }

    /** After a broken connection transactions are tried anew: once for a whole batch, not once for each call of it. */
    @Test
    void batchWithATransactionWaitsOnceForAServerThatIsStalled() {
        RedisServer server = redis.server();
        try (RedisLink link = connect(server.uri().toString())) {
            link.call(beside("first"));
            List<RedisLink.Call> calls = new ArrayList<>(Collections.nCopies(200, sampleCall()));
            calls.add(beside("second"));
            server.stall();
            try {
                assertRetry(() -> sample(link));
                Future<List<RedisLink.Outcome>> outcomes = CompletableFuture.supplyAsync(() -> link.callAll(calls));
                await().atMost(Duration.ofSeconds(20)).until(outcomes::isDone);
                assertThat(outcomes.resultNow()).hasSize(201).allSatisfy(outcome -> assertRetry(outcome::get));
            } finally {
                server.resume();
            }
            await().ignoreExceptionsMatching(RedisLinkIT::isRetry).untilAsserted(() -> link.call(beside("third")));
        }
    }

    @Test
    void cutTruncatedAndSilentConnectionsGiveRetry() {
        try (FaultProxy proxy = FaultProxy.to(redis.server());
                RedisLink link = connect(proxy.uri().toString())) {
            sample(link);
            proxy.cut();
            assertRetry(() -> sample(link));
            proxy.pass();
            await().ignoreExceptionsMatching(RedisLinkIT::isRetry).untilAsserted(() -> sample(link));
            proxy.truncate(FaultProxy.Direction.TO_CLIENT, 3);
            assertRetry(() -> sample(link));
            proxy.pass();
            await().ignoreExceptionsMatching(RedisLinkIT::isRetry).untilAsserted(() -> sample(link));
            proxy.stall();
            assertRetry(() -> sample(link));
        }
    }

    @Test
    void serverThatAllowsNoMoreClientsGivesRetryAndSaysSo() {
        try (Jedis jedis = redis.client();
                RedisLink link = connect(redis.uri().toString())) {
            jedis.configSet("maxclients", "1");
            try {
                assertThatThrownBy(() -> connect(redis.uri().toString()))
                        .isInstanceOfSatisfying(HoldfastException.class, e -> {
                            assertThat(e.category()).isEqualTo(Category.RETRY);
                            assertThat(e).hasMessageContaining("as many clients as it allows");
                        });
            } finally {
                jedis.configSet("maxclients", "10000");
            }
            sample(link);
        }
    }

    @Test
    void unreachableServerIsOneClearLine() {
        assertThatThrownBy(() -> connect("redis://127.0.0.1:1")).isInstanceOfSatisfying(HoldfastException.class, e -> {
            assertThat(e.category()).isEqualTo(Category.RETRY);
            assertThat(e.getMessage()).contains("redis://127.0.0.1:1").doesNotContain("\n");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"allkeys-lru", "allkeys-lfu", "allkeys-random"})
    void policyThatDeletesHeldDataIsRefused(String policy) {
        redis.server().config("maxmemory-policy", policy);
        assertThatThrownBy(() -> connect(redis.uri().toString()))
                .hasMessageContaining("maxmemory-policy " + policy)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"noeviction", "volatile-lru", "volatile-ttl"})
    void policyThatKeepsKeysWithoutATimeIsAccepted(String policy) {
        redis.server().config("maxmemory-policy", policy);
        connect(redis.uri().toString()).close();
    }

    /** The embedded server has one version only, so an old one is played. */
    @Test
    void oldServerIsRefused() throws IOException {
        try (ServerSocket old = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> playOldServer(old));
            assertThatThrownBy(() -> connect("redis://127.0.0.1:" + old.getLocalPort()))
                    .hasMessageContaining("is Redis 6.2.14, and Holdfast needs 7.0 or newer");
        }
    }

    private static void playOldServer(ServerSocket socket) {
        String info = "# Server\r\nredis_version:6.2.14\r\nmaxmemory_policy:noeviction\r\n";
        try {
            while (true) {
                Socket client = socket.accept();
                byte[] buffer = new byte[4096];
                int read;
                while ((read = client.getInputStream().read(buffer)) > 0) {
                    String request = new String(buffer, 0, read, US_ASCII);
                    for (int at = request.indexOf('*'); at >= 0; at = request.indexOf('*', at + 1)) {
                        String command = request.substring(request.indexOf('\n', request.indexOf('$', at)) + 1);
                        String answer = command.startsWith("INFO")
                                ? "$" + info.length() + "\r\n" + info + "\r\n"
                                : command.startsWith("HELLO")
                                        ? "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:2\r\n"
                                        : "+OK\r\n";
                        client.getOutputStream().write(answer.getBytes(US_ASCII));
                    }
                }
            }
        } catch (IOException e) {
            // the test is over
        }
    }

    @Test
    void fullServerRefusesWithFullAndWrongTypeIsCorrupt() {
        redis.server().maxmemory("1");
        try (RedisLink link = connect(redis.uri().toString())) {
            assertCategory(Category.FULL, () -> link.command(Command.SET, bytes("k"), bytes("v")));
            redis.server().maxmemory("0");
            link.command(Command.SET, bytes("k"), bytes("v"));
            assertCategory(Category.CORRUPT, () -> link.command(Command.HGET, bytes("k"), bytes("f")));
        }
    }

    /** A transaction that could be queued and is refused at its end: the reason stands behind another first word. */
    @Test
    void transactionThatIsRefusedAsAWholeSaysWhy() {
        try (Jedis first = redis.client();
                Jedis second = redis.client()) {
            first.sendCommand(Command.MULTI);
            first.sendCommand(Command.SET, "k", "v");
            second.configSet("maxmemory", "1");
            JedisDataException full =
                    catchThrowableOfType(JedisDataException.class, () -> first.sendCommand(Command.EXEC));
            second.configSet("maxmemory", "0");
            assertThat(full).hasMessageStartingWith("EXECABORT");
            assertThat(RedisFailures.of("a test", full).category()).isEqualTo(Category.FULL);
        }
    }

    @Test
    void wrongPasswordAndMissingPermissionAreMisuse() {
        try (RedisServer server = RedisServer.setup()
                .password("secret")
                .user("reader", "r", "~*", "+@read", "+info", "+client")
                .start()) {
            String hostAndPort = "127.0.0.1:" + server.port();
            assertCategory(Category.MISUSE, () -> connect("redis://" + hostAndPort));
            assertCategory(Category.MISUSE, () -> connect("redis://:wrong@" + hostAndPort));
            connect("redis://:secret@" + hostAndPort).close();
            try (RedisLink link = connect("redis://reader:r@" + hostAndPort)) {
                assertCategory(Category.MISUSE, () -> link.command(Command.SET, bytes("k"), bytes("v")));
            }
        }
    }

    @Test
    void callersOwnClientIsUsedAndLeftOpen() {
        try (RedisClient own = RedisClient.create(redis.server().address())) {
            RedisLink link = RedisLink.using(own);
            sample(link);
            link.close();
            assertThat(own.ping()).isEqualTo("PONG");
        }
    }

    @Test
    void closedLinkSaysSo() {
        RedisLink link = connect(redis.uri().toString());
        link.close();
        assertThatThrownBy(() -> sample(link)).isInstanceOf(HoldfastException.class);
    }

    @Test
    void clusterIsFollowedWhenASlotMovesAndEveryServerIsChecked() {
        try (RedisCluster cluster = RedisCluster.start()) {
            String uri = "redis-cluster://" + cluster.addresses().getFirst();
            try (RedisLink link = connect(uri)) {
                assertThat(link.servers()).hasSize(3);
                sample(link);
                int slot = RedisCluster.slot("hf:{t:x:0}:meta");
                cluster.moveSlot(slot, cluster.anotherThan(cluster.masterOf(slot)));
                sample(link);
                cluster.moveSlot(slot, cluster.anotherThan(cluster.masterOf(slot)));
                assertThat(link.call(beside("moved")).number(2)).isEqualTo(2);
                List<RedisLink.Call> calls = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    calls.add(call(new Keyspace("t", "n" + i, 0)));
                }
                assertThat(link.callAll(calls))
                        .allSatisfy(outcome -> assertThat(outcome.get().text(0)).isEqualTo("OK"));
            }
            cluster.masters().getLast().config("maxmemory-policy", "allkeys-lru");
            assertThatThrownBy(() -> connect(uri)).hasMessageContaining("allkeys-lru");
        }
    }

    @Test
    void serverOfAClusterThatHangsOrIsGoneKeepsNobodyFromTheOthers() {
        try (RedisCluster cluster = partialCluster();
                RedisLink link =
                        connect("redis-cluster://" + cluster.addresses().getFirst())) {
            List<Keyspace> spread = IntStream.range(0, 20)
                    .mapToObj(i -> new Keyspace("t", "n" + i, 0))
                    .toList();
            List<RedisLink.Call> calls = spread.stream().map(RedisLinkIT::call).toList();
            assertThat(link.callAll(calls)).allMatch(outcome -> outcome.failure() == null);
            RedisServer ill = cluster.masters().get(1);
            List<Boolean> there = spread.stream()
                    .map(keyspace -> cluster.masterOf(new String(keyspace.key("meta"), US_ASCII)) == ill)
                    .toList();
            ill.stall();
            assertRefusedWhere(there, link.callAll(calls));
            ill.resume();
            await().until(() -> link.callAll(calls).stream().allMatch(outcome -> outcome.failure() == null));
            cluster.kill(ill);
            for (int i = 0; i < 3; i++) {
                assertRefusedWhere(there, link.callAll(calls));
            }
        }
    }

    @Test
    void slotThatMovedBeforeItsServerDiedIsFoundByBatchesAlone() {
        try (RedisCluster cluster = partialCluster();
                RedisLink link =
                        connect("redis-cluster://" + cluster.addresses().getFirst())) {
            Keyspace keyspace = new Keyspace("t", "x", 0);
            List<RedisLink.Call> calls = List.of(call(keyspace), call(keyspace));
            assertThat(link.callAll(calls)).allMatch(outcome -> outcome.failure() == null);
            int slot = RedisCluster.slot("hf:{t:x:0}:meta");
            RedisServer before = cluster.masterOf(slot);
            cluster.moveSlot(slot, cluster.anotherThan(before));
            cluster.kill(before);
            await().until(() -> link.callAll(calls).stream().allMatch(outcome -> outcome.failure() == null));
        }
    }

    /** One that serves the slots it has when a server is gone. */
    private static RedisCluster partialCluster() {
        return RedisCluster.with(setup -> setup.option("cluster-require-full-coverage", "no"));
    }

    private static void assertRefusedWhere(List<Boolean> there, List<RedisLink.Outcome> outcomes) {
        for (int i = 0; i < outcomes.size(); i++) {
            HoldfastException failure = outcomes.get(i).failure();
            assertThat(failure != null).as("call %d: %s", i, failure).isEqualTo(there.get(i));
            assertThat(failure == null || failure.isRetryable())
                    .as("%s", failure)
                    .isTrue();
        }
    }

    @Test
    void sentinelFailOverIsFollowed() {
        try (RedisReplication replication = RedisReplication.startWithSentinel()) {
            String uri = "redis-sentinel://" + replication.sentinelAddress() + "#" + RedisReplication.NAME;
            try (RedisLink link = connect(uri)) {
                sample(link);
                String before = link.servers().getFirst().runId();
                replication.awaitInSync();
                replication.failover();
                await().atMost(Duration.ofSeconds(30))
                        .ignoreExceptionsMatching(RedisLinkIT::isRetry)
                        .untilAsserted(() -> {
                            sample(link);
                            assertThat(link.servers().getFirst().runId()).isNotEqualTo(before);
                        });
            }
        }
    }

    @Test
    void brokenConnectionOfASentinelClientTakesTheIdleOnesWithIt() {
        try (RedisReplication replication = RedisReplication.startWithSentinel();
                RedisLink link =
                        connect("redis-sentinel://" + replication.sentinelAddress() + "#" + RedisReplication.NAME);
                Jedis primary = replication.primary().client()) {
            await().atMost(Duration.ofSeconds(30)).until(() -> {
                callFromMany(link, 64);
                return connectionsOf("holdfast", primary) >= 3;
            });
            primary.clientKill(new ClientKillParams().type(ClientType.NORMAL).skipMe(ClientKillParams.SkipMe.YES));
            assertThatThrownBy(() -> sample(link)).matches(RedisLinkIT::isRetry);
            callFromMany(link, 64); // each of them succeeds
        }
    }

    private static long connectionsOf(String name, Jedis server) {
        return server.clientList()
                .lines()
                .filter(line -> line.contains(" name=" + name))
                .count();
    }

    private static void callFromMany(RedisLink link, int callers) {
        try (ExecutorService many = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Reply>> calls = new ArrayList<>();
            for (int i = 0; i < callers; i++) {
                calls.add(() -> sample(link));
            }
            for (Future<Reply> call : many.invokeAll(calls)) {
                assertThat(call.resultNow().text(0)).isEqualTo("OK");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Reply sample(RedisLink link) {
        return link.call(sampleCall());
    }

    private static RedisLink.Call sampleCall() {
        return call(new Keyspace("t", "x", 0));
    }

    /** The same call with a field of its first key beside it. */
    private static RedisLink.Call beside(String value) {
        RedisLink.Call call = sampleCall();
        return new RedisLink.Call(call.script(), call.keys(), call.arguments(), List.of(bytes("field"), bytes(value)));
    }

    private static RedisLink.Call call(Keyspace keyspace) {
        return new RedisLink.Call(
                SAMPLE, List.of(keyspace.key("meta"), keyspace.key("values")), List.of(bytes("n"), bytes("1")));
    }

    private static RedisLink connect(String uri) {
        return RedisLink.connect(Settings.none()
                .set(LinkSettings.URI, uri)
                .set(LinkSettings.TIMEOUT, SHORT)
                .set(LinkSettings.CONNECT_TIMEOUT, SHORT));
    }

    private static void assertRetry(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertCategory(Category.RETRY, call);
    }

    private static void assertCategory(Category category, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(category));
    }

    private static boolean isRetry(Throwable failure) {
        return failure instanceof HoldfastException e && e.isRetryable();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(US_ASCII);
    }
}
