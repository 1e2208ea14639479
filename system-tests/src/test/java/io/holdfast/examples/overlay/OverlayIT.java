package io.holdfast.examples.overlay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.SharedRedis;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/** Two instances as processes, and browsers that come, go, refresh, and lose their server. */
class OverlayIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void overlayEndsOnceWhenNoBrowserShowsItAnyMore() throws Exception {
        try (HttpClient browser = HttpClient.newHttpClient();
                Holdfast observer = Holdfast.connect(redis.uri().toString());
                ChildJvm first = instance("web-1");
                ChildJvm second = instance("web-2")) {
            int firstPort = port(first);
            int secondPort = port(second);
            HoldView view = observer.sessions("overlays").look().orElseThrow();

            // The page is open in two tabs, on two instances.
            WebSocket one = open(browser, firstPort, "game");
            WebSocket two = open(browser, secondPort, "game");
            assertThat(view.holders("game")).hasSize(2);
            long epoch = view.open("game").orElseThrow().epoch();

            // One tab is closed, and the other is refreshed: it leaves one instance and comes back on the other.
            leave(one);
            await().atMost(PATIENCE).until(() -> view.holders("game").size() == 1);
            leave(two);
            await().atMost(PATIENCE).until(() -> view.holders("game").isEmpty());
            WebSocket refreshed = open(browser, firstPort, "game");
            assertThat(view.open("game").orElseThrow().epoch())
                    .as("the same life")
                    .isEqualTo(epoch);
            await().during(OverlayServer.GRACE.plusSeconds(2))
                    .atMost(PATIENCE)
                    .until(() -> ended("game") == 0 && view.holders("game").size() == 1);

            // All tabs are closed.
            leave(refreshed);
            await().atMost(PATIENCE).until(() -> ended("game") == 1);
            // The effect comes first, then the commit.
            await().atMost(PATIENCE).until(() -> view.show("game").isEmpty());

            // An instance is killed while browsers are connected to it.
            open(browser, firstPort, "alone");
            open(browser, firstPort, "shared");
            WebSocket elsewhere = open(browser, secondPort, "shared");
            first.kill();
            await().atMost(PATIENCE).until(() -> ended("alone") == 1);
            assertThat(ended("shared")).isZero();
            assertThat(view.holders("shared"))
                    .singleElement()
                    .satisfies(holder -> assertThat(holder.name()).startsWith("web-2#"));
            leave(elsewhere);
            await().atMost(PATIENCE).until(() -> ended("shared") == 1);
            assertThat(ended("game")).isEqualTo(1);
        }
    }

    private static ChildJvm instance(String name) {
        return ChildJvm.of(OverlayServer.class).arguments(redis.uri(), name).start();
    }

    private static int port(ChildJvm instance) {
        return Integer.parseInt(
                instance.awaitLine(line -> line.startsWith("port ")).substring("port ".length()));
    }

    /** A browser that shows an overlay; returns when the server serves it. */
    private static WebSocket open(HttpClient browser, int port, String overlay) {
        CompletableFuture<String> served = new CompletableFuture<>();
        WebSocket.Listener page = new WebSocket.Listener() {
            @Override
            public CompletionStage<?> onText(WebSocket socket, CharSequence text, boolean last) {
                served.complete(text.toString());
                socket.request(1);
                return CompletableFuture.completedStage(null);
            }
        };
        WebSocket socket = browser.newWebSocketBuilder()
                .buildAsync(URI.create("ws://127.0.0.1:" + port + "/" + overlay), page)
                .join();
        assertThat(served.join()).isEqualTo("serving " + overlay);
        return socket;
    }

    private static void leave(WebSocket socket) {
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
    }

    private static long ended(String overlay) {
        try (Jedis jedis = redis.client()) {
            return jedis.scard("ended:" + overlay);
        }
    }
}
