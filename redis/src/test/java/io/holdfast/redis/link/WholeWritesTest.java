package io.holdfast.redis.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.RedisOutputStream;

class WholeWritesTest {

    private static final int TIMEOUT_MILLIS = 5_000;

    @Test
    void nothingIsSentBeforeTheRequestIsWhole() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = sockets("127.0.0.1", server.getLocalPort()).createSocket();
                Socket accepted = server.accept()) {
            RedisOutputStream out = new RedisOutputStream(client.getOutputStream());
            byte[] piece = new byte[5_000];
            for (int i = 0; i < 8; i++) {
                out.write(piece); // Jedis passes on what is over 8 KiB
            }
            accepted.setSoTimeout(50);
            assertThatThrownBy(() -> accepted.getInputStream().read())
                    .isInstanceOf(java.net.SocketTimeoutException.class);
            out.flush();
            accepted.setSoTimeout(TIMEOUT_MILLIS);
            assertThat(accepted.getInputStream().readNBytes(8 * piece.length)).hasSize(8 * piece.length);
        }
    }

    @Test
    void socketHasTheTimeOutOfTheSettings() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = sockets("127.0.0.1", server.getLocalPort()).createSocket()) {
            assertThat(client.getSoTimeout()).isEqualTo(TIMEOUT_MILLIS);
            assertThat(client.getTcpNoDelay()).isTrue();
        }
    }

    @Test
    void hostThatIsUnknownAndPortThatIsClosedAreToldApart() throws IOException {
        int closed;
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closed = server.getLocalPort();
        }
        assertThatThrownBy(() -> sockets("127.0.0.1", closed).createSocket())
                .isInstanceOf(JedisConnectionException.class)
                .hasMessage("Failed to connect to 127.0.0.1:" + closed + ".");
        assertThatThrownBy(() -> sockets("no-such-host.invalid", 6379).createSocket())
                .isInstanceOf(JedisConnectionException.class)
                .hasMessage("There is no host no-such-host.invalid.");
    }

    private static WholeWrites sockets(String host, int port) {
        return new WholeWrites(new HostAndPort(host, port), TIMEOUT_MILLIS, TIMEOUT_MILLIS);
    }
}
