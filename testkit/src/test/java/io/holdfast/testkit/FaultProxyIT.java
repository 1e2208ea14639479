package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.testkit.FaultProxy.Direction;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

final class FaultProxyIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private FaultProxy proxy;

    @BeforeEach
    void start() {
        proxy = FaultProxy.to(redis.server());
    }

    @AfterEach
    void close() {
        proxy.close();
    }

    @Test
    void everythingPassesInBothDirections() {
        String large = "x".repeat(5 << 20);
        try (Jedis client = new Jedis(proxy.uri())) {
            client.set("held", large);
            assertThat(client.get("held")).isEqualTo(large);
            assertThat(proxy.connections()).isEqualTo(1);
        }
        await().untilAsserted(() -> assertThat(proxy.connections()).isZero());
    }

    @Test
    void delayMakesTheLineLongNotNarrow() throws Exception {
        proxy.delay(Duration.ofMillis(200));
        try (Socket socket = connect()) {
            long before = System.nanoTime();
            for (int i = 0; i < 10; i++) { // a packet and a reply each
                send(socket, "PING\r\n");
            }
            assertThat(read(socket, 70)).isEqualTo("+PONG\r\n".repeat(10));
            assertThat(Duration.ofNanos(System.nanoTime() - before)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
        }
    }

    @Test
    void aStalledLineTakesBytesAndDeliversThemLate() throws Exception {
        try (Socket socket = connect()) {
            proxy.stall();
            send(socket, "SET held late\r\n");
            socket.setSoTimeout(100);
            assertThatThrownBy(() -> read(socket, 1)).isInstanceOf(SocketTimeoutException.class);
            assertThat(get("held")).isNull();

            proxy.pass();
            socket.setSoTimeout(20_000);
            assertThat(read(socket, 5)).isEqualTo("+OK\r\n");
            assertThat(get("held")).isEqualTo("late");
        }
    }

    @Test
    void aStalledLineTakesNoMoreThanItsBuffers() throws Exception {
        proxy.stall();
        try (Socket socket = connect()) {
            var sent = new AtomicLong();
            Thread sender = Thread.ofVirtual().start(() -> sendUntilReset(socket, sent));
            var seen = new AtomicLong(-1);
            await("the line is full")
                    .during(Duration.ofMillis(300))
                    .until(() -> seen.getAndSet(sent.get()) == sent.get());
            assertThat(sent.get()).isLessThan(64 << 20);
            proxy.reset();
            sender.join();
        }
    }

    @Test
    void aCutResetsWhatIsOpenAndRefusesWhatIsNew() throws Exception {
        try (Socket socket = connect()) {
            send(socket, "PING\r\n");
            assertThat(read(socket, 7)).isEqualTo("+PONG\r\n");

            proxy.cut();

            assertThatThrownBy(() -> read(socket, 1)).isInstanceOf(SocketException.class);
            // A process that is just being started by this JVM may have the listening socket open a moment longer.
            await().untilAsserted(
                            () -> assertThatThrownBy(() -> connect().close()).isInstanceOf(ConnectException.class));

            proxy.pass();
            try (Socket again = connect()) {
                send(again, "PING\r\n");
                assertThat(read(again, 7)).isEqualTo("+PONG\r\n");
            }
        }
    }

    @Test
    void aResetEndsConnectionsButNotTheLine() throws Exception {
        try (Socket socket = connect()) {
            send(socket, "PING\r\n");
            read(socket, 7);

            proxy.reset();

            assertThatThrownBy(() -> read(socket, 1)).isInstanceOf(SocketException.class);
            connect().close();
        }
    }

    @Test
    void aReplyIsTruncatedInItsMiddle() throws Exception {
        redis.server().client().set("held", "0123456789");
        proxy.truncate(Direction.TO_CLIENT, 8);
        try (Socket socket = connect()) {
            send(socket, "GET held\r\n");
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
                    .isEqualTo("$10\r\n012");
        }
        proxy.awaitStruck();
        assertThat(proxy.struck()).isEqualTo(1);
    }

    @Test
    void aTruncatedRequestIsNotExecuted() throws Exception {
        proxy.truncate(Direction.TO_SERVER, 12);
        try (Socket socket = connect()) {
            send(socket, "SET held yes\r\n");
            assertThatThrownBy(() -> read(socket, 1)).isInstanceOf(IOException.class);
        }
        proxy.awaitStruck();
        assertThat(get("held")).isNull();
    }

    @Test
    void theDroppedReplyIsOfARequestThatHappened() {
        try (Jedis client = new Jedis(proxy.uri())) {
            client.set("other", "0");
            proxy.dropReply("incr", 2);
            assertThat(client.incr("held")).isEqualTo(1);
            assertThat(client.get("other")).isEqualTo("0");

            assertThatThrownBy(() -> client.incr("held")).isInstanceOf(JedisConnectionException.class);
        }
        assertThat(get("held")).isEqualTo("2");
        assertThat(proxy.struck()).isEqualTo(1);
        try (Jedis client = new Jedis(proxy.uri())) {
            assertThat(client.incr("held")).as("it strikes once").isEqualTo(3);
        }
    }

    @Test
    void theDroppedRequestDidNotHappen() {
        try (Jedis client = new Jedis(proxy.uri())) {
            proxy.dropRequest("INCR", 2);
            assertThat(client.incr("held")).isEqualTo(1);

            assertThatThrownBy(() -> client.incr("held")).isInstanceOf(JedisConnectionException.class);
        }
        assertThat(get("held")).isEqualTo("1");
    }

    @Test
    void ofAPipelineTheRepliesBeforeTheDroppedOneArrive() throws Exception {
        try (Socket socket = connect()) {
            proxy.dropReply(3);
            send(socket, "INCR held\r\nINCR held\r\nINCR held\r\nINCR held\r\n");

            assertThat(read(socket, 8)).isEqualTo(":1\r\n:2\r\n");
            assertThatThrownBy(() -> read(socket, 1)).isInstanceOf(SocketException.class);
        }
        assertThat(get("held")).isEqualTo("4");
    }

    @Test
    void ofAPipelineTheRequestsBeforeTheDroppedOneArrive() throws Exception {
        try (Socket socket = connect()) {
            proxy.dropRequest("INCR", 3);
            send(socket, "INCR held\r\nINCR held\r\nINCR held\r\nINCR held\r\n");
            assertThatThrownBy(() -> read(socket, 100)).isInstanceOf(IOException.class);
        }
        proxy.awaitStruck();
        assertThat(get("held")).isEqualTo("2");
    }

    @Test
    void aDeadServerBehindTheProxyLooksDead() {
        redis.server().kill();

        assertThatThrownBy(() -> new Jedis(proxy.uri()).ping()).isInstanceOf(JedisConnectionException.class);

        redis.server().restart();
        assertThat(new Jedis(proxy.uri()).ping()).isEqualTo("PONG");
    }

    @Test
    void whatIsNotRedisPassesToo() throws Exception {
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var other = FaultProxy.to(server.getLocalPort());
                var client = new Socket(InetAddress.getLoopbackAddress(), other.port());
                var accepted = server.accept()) {
            byte[] bytes = new byte[300_000];
            new Random(1).nextBytes(bytes);
            Thread.ofVirtual().start(() -> {
                try (OutputStream out = accepted.getOutputStream()) {
                    out.write(bytes);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(client.getInputStream().readAllBytes()).isEqualTo(bytes);
        }
    }

    private static void sendUntilReset(Socket socket, AtomicLong sent) {
        byte[] bytes = new byte[64 << 10];
        try {
            while (true) {
                socket.getOutputStream().write(bytes);
                sent.addAndGet(bytes.length);
            }
        } catch (IOException e) {
            // that is the end of it
        }
    }

    private Socket connect() throws IOException {
        var socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
        socket.setSoTimeout(20_000);
        socket.setTcpNoDelay(true);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String read(Socket socket, int bytes) throws IOException {
        byte[] read = socket.getInputStream().readNBytes(bytes);
        if (read.length < bytes) {
            throw new EOFException();
        }
        return new String(read, StandardCharsets.US_ASCII);
    }

    private static String get(String key) {
        try (Jedis client = redis.client()) {
            return client.get(key);
        }
    }
}
