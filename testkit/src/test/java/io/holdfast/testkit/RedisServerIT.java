package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

final class RedisServerIT {

    @Test
    void aKilledServerRefusesConnectionsAndComesBackOnItsPortWithoutData() {
        try (var server = RedisServer.start()) {
            int port = server.port();
            String life = server.runId();
            set(server, "held", "yes");

            server.kill();
            assertThat(server.isAlive()).isFalse();
            assertThatThrownBy(server::runId).isInstanceOf(JedisConnectionException.class);

            server.restart();
            assertThat(server.port()).isEqualTo(port);
            assertThat(server.runId()).isNotEqualTo(life);
            assertThat(get(server, "held")).isNull();
        }
    }

    @Test
    void aRestartKeepsTheDataAndAnEmptyRestartDoesNot() {
        try (var server = RedisServer.start()) {
            set(server, "held", "yes");

            server.restart();
            assertThat(get(server, "held")).isEqualTo("yes");

            server.restartEmpty();
            assertThat(get(server, "held")).isNull();
        }
    }

    @Test
    void aDurableServerKeepsEveryAcknowledgedWriteWhenKilled() {
        try (var server = RedisServer.setup().durable().start()) {
            for (int i = 0; i < 500; i++) {
                set(server, "held:" + i, "yes");
            }

            server.kill();
            server.restart();

            try (Jedis client = server.client()) {
                assertThat(client.dbSize()).isEqualTo(500);
            }
        }
    }

    @Test
    void aStalledServerTakesConnectionsButAnswersOnlyWhenResumed() throws Exception {
        try (var server = RedisServer.start()) {
            server.stall();
            try (var socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), 1000);
                socket.setSoTimeout(100);
                socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
                assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);

                server.resume();
                socket.setSoTimeout(10_000);
                assertThat(socket.getInputStream().read()).isEqualTo('+');
            }
        }
    }

    @Test
    void memoryIsBoundedFromTheStartOrLater() {
        try (var server = RedisServer.setup().maxmemory("3mb").start()) {
            assertThat(server.info("memory")).containsEntry("maxmemory", "3145728");
            assertThatThrownBy(() -> set(server, "held", "x".repeat(4 << 20)))
                    .isInstanceOf(JedisDataException.class)
                    .hasMessageContaining("OOM");
            server.maxmemory("100mb");
            set(server, "held", "x".repeat(4 << 20));
        }
    }

    @Test
    void aPasswordIsInTheUriAndAUserHasHisRulesOnly() {
        try (var server = RedisServer.setup()
                .password("open")
                .user("reader", "secret", "~*", "+@read")
                .start()) {
            try (var client = new Jedis(server.uri())) {
                assertThat(client.set("held", "yes")).isEqualTo("OK");
            }
            var config = DefaultJedisClientConfig.builder().user("reader").password("secret");
            try (var reader = new Jedis(server.address(), config.build())) {
                assertThat(reader.get("held")).isEqualTo("yes");
                assertThatThrownBy(() -> reader.set("held", "no")).isInstanceOf(JedisAccessControlException.class);
            }
            try (var stranger = new Jedis(server.address())) {
                assertThatThrownBy(() -> stranger.get("held")).hasMessageContaining("NOAUTH");
            }
        }
    }

    @Test
    void tlsIsSpokenToThoseWhoTrustTheCertificate() {
        try (var server = RedisServer.setup().tls().start()) {
            var certificate = server.certificate();
            var encrypted = new HostAndPort("127.0.0.1", server.tlsUri().getPort());
            var options = SslOptions.builder()
                    .truststore(certificate.trustStore().toFile(), Certificate.PASSWORD.toCharArray())
                    .trustStoreType("PKCS12");
            var trusting = DefaultJedisClientConfig.builder().sslOptions(options.build());
            try (var client = new Jedis(encrypted, trusting.build())) {
                assertThat(client.ping()).isEqualTo("PONG");
            }
            assertThatThrownBy(() -> {
                        try (var client = new Jedis(server.tlsUri())) {
                            client.ping();
                        }
                    })
                    .isInstanceOf(JedisConnectionException.class);
            server.restart();
            try (var client = new Jedis(encrypted, trusting.build())) {
                assertThat(client.ping()).isEqualTo("PONG");
            }
        }
    }

    @Test
    void workShowsInProcessorTimeAndSlowlog() {
        try (var server =
                RedisServer.setup().option("slowlog-log-slower-than", "1000").start()) {
            long before = server.cpuMicros();
            try (Jedis client = server.client()) {
                client.eval("for i = 1, 5000000 do end");
            }
            assertThat(server.cpuMicros() - before).isPositive();
            assertThat(server.slowlog()).anyMatch(entry -> entry.getArgs().contains("for i = 1, 5000000 do end"));
        }
    }

    private static void set(RedisServer server, String key, String value) {
        try (Jedis client = server.client()) {
            client.set(key, value);
        }
    }

    private static String get(RedisServer server, String key) {
        try (Jedis client = server.client()) {
            return client.get(key);
        }
    }
}
