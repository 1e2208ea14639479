package io.holdfast.redis.link;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Makes sockets that hand a request to the kernel whole. Jedis passes its bytes on in pieces of 8 KiB, and each piece
 * wakes a server that waits: a batch of 35 KiB is then read in several small bites with a wait before each. Here they
 * gather until the flush with which Jedis ends every request.
 */
final class WholeWrites implements JedisSocketFactory {

    private static final int MOST_BYTES = 64 << 10;

    private final HostAndPort server;
    private final int connectMillis;
    private final int timeoutMillis;

    WholeWrites(HostAndPort server, int connectMillis, int timeoutMillis) {
        this.server = server;
        this.connectMillis = connectMillis;
        this.timeoutMillis = timeoutMillis;
    }

    /** Connects to the first address of the server that can be reached. */
    @Override
    public Socket createSocket() {
        JedisConnectionException unreachable = new JedisConnectionException("Failed to connect to " + server + ".");
        try {
            for (InetAddress address : InetAddress.getAllByName(server.getHost())) {
                try {
                    return connect(address);
                } catch (IOException e) {
                    unreachable.addSuppressed(e);
                }
            }
        } catch (UnknownHostException e) {
            throw new JedisConnectionException("There is no host " + server.getHost() + ".", e);
        }
        throw unreachable;
    }

    private Socket connect(InetAddress address) throws IOException {
        Socket socket = new WholeWritesSocket();
        try {
            socket.setKeepAlive(true);
            socket.setTcpNoDelay(true);
            socket.setSoLinger(true, 0); // what was not answered is repeated: nothing to linger for
            socket.connect(new InetSocketAddress(address, server.getPort()), connectMillis);
            socket.setSoTimeout(timeoutMillis);
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static final class WholeWritesSocket extends Socket {

        @Override
        public OutputStream getOutputStream() throws IOException {
            return new BufferedOutputStream(super.getOutputStream(), MOST_BYTES);
        }
    }
}
