package io.holdfast.examples.overlay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.ChildJvm;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.java_websocket.WebSocket;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;
import redis.clients.jedis.Protocol.Command;

/**
 * One instance of an overlay server. A browser opens {@code ws://host/OVERLAY}; as long as any browser on any instance
 * shows the overlay, its subscription stays; when none does any more, one instance ends it.
 *
 * <pre>
 *   connection opens  -> rooms.acquire(overlay)      the first one here makes this instance a holder
 *   connection closes -> hold.close()                the last one out releases
 *   nobody anywhere   -> onClose                     after the grace, in one of the instances
 * </pre>
 */
public final class OverlayServer extends WebSocketServer {

    static final Duration LEASE = Duration.ofSeconds(3);
    static final Duration GRACE = Duration.ofSeconds(2);

    private final Sessions overlays;

    private OverlayServer(Sessions overlays) {
        super(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        this.overlays = overlays;
        setReuseAddr(true);
    }

    /** {@code main REDIS INSTANCE}: says its port when it is ready. */
    public static void main(String[] arguments) throws Exception {
        Holdfast holdfast =
                Holdfast.builder().uri(arguments[0]).instance(arguments[1]).open();
        Sessions overlays = holdfast.sessions("overlays")
                .lease(LEASE)
                .grace(GRACE)
                .onClose(claim -> endSubscription(holdfast, claim.id(), claim.epoch()))
                .start();
        new OverlayServer(overlays).start();
        Thread.currentThread().join();
    }

    /** What a real server would do at a streaming service; here the test counts how often. */
    private static void endSubscription(Holdfast holdfast, String overlay, long epoch) {
        byte[] ended = ("ended:" + overlay).getBytes(UTF_8);
        holdfast.link().command(Command.SADD, ended, Long.toString(epoch).getBytes(UTF_8));
    }

    @Override
    public void onStart() {
        ChildJvm.sayReady();
        ChildJvm.say("port " + getPort());
    }

    @Override
    public void onOpen(WebSocket connection, ClientHandshake handshake) {
        String overlay = handshake.getResourceDescriptor().substring(1);
        SessionHold hold = overlays.acquire(overlay);
        connection.setAttachment(hold);
        connection.send("serving " + overlay);
    }

    @Override
    public void onClose(WebSocket connection, int code, String reason, boolean remote) {
        SessionHold hold = connection.getAttachment();
        if (hold != null) {
            hold.close();
        }
    }

    @Override
    public void onMessage(WebSocket connection, String message) {
        connection.send("echo " + message);
    }

    @Override
    public void onError(WebSocket connection, Exception failure) {
        System.err.println(failure);
    }
}
