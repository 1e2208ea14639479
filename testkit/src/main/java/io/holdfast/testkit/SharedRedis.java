package io.holdfast.testkit;

import java.net.URI;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import redis.clients.jedis.Jedis;

/**
 * One server for a test class, empty before each test, and as new after a test that killed, stalled or reconfigured it:
 *
 * <pre>{@code
 * @RegisterExtension
 * static final SharedRedis redis = SharedRedis.with(setup -> setup.maxmemory("64mb"));
 * }</pre>
 *
 * <p>The field must be static. Loaded scripts stay; a test that wants them gone says {@code SCRIPT FLUSH}.
 */
public final class SharedRedis implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback {

    private final UnaryOperator<RedisServer.Setup> setup;
    private @Nullable RedisServer server;

    private SharedRedis(UnaryOperator<RedisServer.Setup> setup) {
        this.setup = setup;
    }

    public static SharedRedis plain() {
        return new SharedRedis(UnaryOperator.identity());
    }

    public static SharedRedis with(UnaryOperator<RedisServer.Setup> setup) {
        return new SharedRedis(setup);
    }

    public RedisServer server() {
        if (server == null) {
            throw new IllegalStateException("no test runs: SharedRedis belongs in a static @RegisterExtension field");
        }
        return server;
    }

    public URI uri() {
        return server().uri();
    }

    /** A new connection, which the caller closes. */
    public Jedis client() {
        return server().client();
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        if (server == null) { // a @Nested class comes here again
            server = setup.apply(RedisServer.setup()).start();
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        server().makePristine();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        boolean nested =
                context.getParent().flatMap(ExtensionContext::getTestClass).isPresent();
        if (!nested && server != null) {
            server.close();
            server = null;
        }
    }
}
