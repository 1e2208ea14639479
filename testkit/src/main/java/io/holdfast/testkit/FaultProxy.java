package io.holdfast.testkit;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;

/**
 * A network on loopback that fails on demand, in front of any port of this host.
 *
 * <p>How the line is can be switched while connections are open, and holds until it is switched again:
 *
 * <pre>
 *   pass()        everything goes through
 *   delay(d)      replies arrive d later; the line is long, not narrow
 *   stall()       bytes are taken and none arrive, in either direction, until pass(): what was taken then arrives late
 *   cut()         every connection is reset, new ones are refused
 * </pre>
 *
 * <p>One fault can be armed besides; it strikes once, and {@link #awaitStruck} tells when it has:
 *
 * <pre>
 *   truncate(direction, n)        after n more bytes in that direction that connection ends, in the middle of a message
 *   dropReply(command, nth)       the request is executed, its reply does not arrive, the connection is reset
 *   dropRequest(command, nth)     the request does not arrive, the connection is reset
 * </pre>
 *
 * <p>Requests are told apart by reading the Redis protocol. Each connection has two {@link Pump}s, each with a bounded
 * buffer: a stalled line stops taking bytes when it is full, as a real one does.
 */
public final class FaultProxy implements AutoCloseable {

    /** Which way bytes go. */
    public enum Direction {
        TO_SERVER,
        TO_CLIENT
    }

    private static final int LOWEST_PORT = 23_000;
    private static final int HIGHEST_PORT = 32_000;
    private static final int PORTS_TRIED_MAX = 100;

    private final InetSocketAddress target;
    private final int port;
    private final Line line = new Line();
    private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
    private @Nullable ServerSocket listening;

    private FaultProxy(int targetPort) {
        target = new InetSocketAddress(loopback(), targetPort);
        port = listenAnywhere();
    }

    /** A proxy in front of 127.0.0.1 and this port. */
    public static FaultProxy to(int port) {
        return new FaultProxy(port);
    }

    public static FaultProxy to(RedisServer server) {
        return to(server.port());
    }

    /** The proxy's own port on 127.0.0.1, the same for life. */
    public int port() {
        return port;
    }

    public HostAndPort address() {
        return new HostAndPort("127.0.0.1", port);
    }

    public URI uri() {
        return URI.create("redis://127.0.0.1:" + port);
    }

    /** Lets everything through, also what is waiting, and new connections. An armed fault is disarmed. */
    public synchronized void pass() {
        line.pass();
        if (listening == null) {
            await("port " + port + " can be had again")
                    .ignoreExceptionsInstanceOf(UncheckedIOException.class)
                    .pollDelay(Duration.ZERO)
                    .until(() -> {
                        listen(port);
                        return true;
                    });
        }
    }

    /** Makes every reply arrive this much later. */
    public void delay(Duration by) {
        line.delay(by);
    }

    /** Takes bytes and connections, delivers nothing. */
    public void stall() {
        line.stall();
    }

    /** Resets every connection and refuses new ones, until {@link #pass}. */
    public synchronized void cut() {
        if (listening != null) {
            close(listening);
            listening = null;
        }
        reset();
    }

    /** Resets every connection; clients may connect again at once. */
    public synchronized void reset() {
        connections.forEach(Connection::reset);
    }

    /** Arms: after this many more bytes that way, on whichever connection, that connection ends. */
    public void truncate(Direction direction, long bytes) {
        line.arm(Fault.truncate(direction, bytes));
    }

    /** Arms: the nth request from now is executed, but its client gets a reset instead of the reply: did it happen? */
    public void dropReply(int nth) {
        line.arm(Fault.dropReply("", nth));
    }

    /** The same, counting only requests with this command, such as {@code EVALSHA}. */
    public void dropReply(String command, int nth) {
        line.arm(Fault.dropReply(command, nth));
    }

    /** Arms: the nth request from now never arrives, and its connection is reset. */
    public void dropRequest(int nth) {
        line.arm(Fault.dropRequest("", nth));
    }

    /** The same, counting only requests with this command. */
    public void dropRequest(String command, int nth) {
        line.arm(Fault.dropRequest(command, nth));
    }

    /** How many armed faults have struck so far. */
    public int struck() {
        return line.struck();
    }

    /** Waits until the armed fault has struck. */
    public void awaitStruck() {
        line.awaitStruck();
    }

    /** How many connections are open now. */
    public int connections() {
        return connections.size();
    }

    @Override
    public synchronized void close() {
        cut();
        line.pass();
    }

    private void listen(int at) {
        try {
            var socket = new ServerSocket(at, 1024, loopback());
            listening = socket;
            Thread.ofVirtual().name("fault-proxy-" + at).start(() -> accept(socket));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int listenAnywhere() {
        for (int tried = 1; ; tried++) {
            int candidate = ThreadLocalRandom.current().nextInt(LOWEST_PORT, HIGHEST_PORT);
            try {
                listen(candidate);
                return candidate;
            } catch (UncheckedIOException e) {
                if (!(e.getCause() instanceof BindException) || tried == PORTS_TRIED_MAX) {
                    throw e;
                }
            }
        }
    }

    private void accept(ServerSocket socket) {
        while (!socket.isClosed()) {
            try {
                Socket client = socket.accept();
                Thread.ofVirtual().start(() -> connect(client, socket));
            } catch (IOException e) {
                return; // closed by cut()
            }
        }
    }

    private void connect(Socket client, ServerSocket acceptedBy) {
        var server = new Socket();
        try {
            server.connect(target);
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            var connection = new Connection(client, server, line, connections::remove);
            synchronized (this) {
                connections.add(connection);
                if (acceptedBy.isClosed()) {
                    connection.reset(); // cut while it was being made
                }
            }
            connection.run();
        } catch (IOException e) {
            Connection.reset(client); // as the host of a dead server would
            close(server);
        }
    }

    private static InetAddress loopback() {
        try {
            return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void close(AutoCloseable socket) {
        try {
            socket.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
