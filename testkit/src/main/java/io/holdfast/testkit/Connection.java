package io.holdfast.testkit;

import io.holdfast.testkit.FaultProxy.Direction;
import java.io.IOException;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** One client of a {@link FaultProxy}: its socket, the socket to the server, and a {@link Pump} each way. */
final class Connection {

    private final Socket client;
    private final Socket server;
    private final Consumer<Connection> onEnd;
    private final Pump toServer;
    private final Pump toClient;
    private final AtomicInteger pumps = new AtomicInteger(2);
    private final AtomicBoolean ended = new AtomicBoolean();

    Connection(Socket client, Socket server, Line line, Consumer<Connection> onEnd) {
        this.client = client;
        this.server = server;
        this.onEnd = onEnd;
        Queue<Line.Verdict> inFlight = new ConcurrentLinkedQueue<>();
        this.toServer = new Pump(Direction.TO_SERVER, client, server, line, inFlight, this);
        this.toClient = new Pump(Direction.TO_CLIENT, server, client, line, inFlight, this);
    }

    void run() {
        toServer.start();
        toClient.start();
    }

    /** Ends both sides so that they notice: a reset, not a goodbye. */
    void reset() {
        end(Connection::reset);
    }

    /** One way has said goodbye; after both, nothing is left to do. */
    void wayEnded() {
        if (pumps.decrementAndGet() == 0) {
            end(Connection::close);
        }
    }

    private void end(Consumer<Socket> how) {
        if (ended.compareAndSet(false, true)) {
            how.accept(client);
            how.accept(server);
            toServer.stop();
            toClient.stop();
            onEnd.accept(this);
        }
    }

    static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            // closed before; closing again is harmless
        }
        close(socket);
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // nothing more can be done with it
        }
    }
}
