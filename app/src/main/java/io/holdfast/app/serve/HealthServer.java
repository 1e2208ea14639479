package io.holdfast.app.serve;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Json;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * {@code /healthz}: the process lives, and each part with what is wrong with it. {@code /readyz}: the same, with status 503
 * unless all parts work. {@code /metrics}: for Prometheus. It only answers; nothing can be done through it.
 */
final class HealthServer implements AutoCloseable {

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Part> parts;

    private HealthServer(HttpServer server, List<Part> parts, PrometheusMeterRegistry registry) {
        this.server = server;
        this.parts = parts;
        server.setExecutor(threads);
        server.createContext("/healthz", exchange -> answer(exchange, 200, "application/json", Json.text(health())));
        server.createContext(
                "/readyz",
                exchange -> answer(exchange, isReady() ? 200 : 503, "application/json", Json.text(health())));
        server.createContext(
                "/metrics", exchange -> answer(exchange, 200, "text/plain; version=0.0.4", registry.scrape()));
        server.createContext("/", exchange -> answer(exchange, 404, "text/plain", "/healthz /readyz /metrics\n"));
        server.start();
    }

    static HealthServer open(String listen, List<Part> parts, PrometheusMeterRegistry registry) {
        int colon = listen.lastIndexOf(':');
        String host = listen.substring(0, colon).replace("[", "").replace("]", "");
        try {
            InetSocketAddress address = new InetSocketAddress(host, Integer.parseInt(listen.substring(colon + 1)));
            if (address.isUnresolved()) {
                throw HoldfastException.misuse("serve.listen: there is no host " + host, "give another address");
            }
            return new HealthServer(HttpServer.create(address, 0), parts, registry);
        } catch (BindException e) {
            throw new HoldfastException(
                    Category.MISUSE,
                    "serve.listen = " + listen + ": " + e.getMessage(),
                    "stop what listens there, or give another port (0: any)",
                    e);
        } catch (IOException | IllegalArgumentException e) {
            throw new HoldfastException(
                    Category.MISUSE, "serve.listen = " + listen + ": " + e.getMessage(), "give HOST:PORT", e);
        }
    }

    int port() {
        return server.getAddress().getPort();
    }

    private boolean isReady() {
        return parts.stream().allMatch(part -> part.failure().isEmpty());
    }

    private Map<String, @Nullable Object> health() {
        List<Map<String, @Nullable Object>> list = new ArrayList<>();
        for (Part part : parts) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("part", part.name());
            one.put("up", part.failure().isEmpty());
            one.put("detail", part.detail());
            one.put("failure", part.failure().orElse(null));
            list.add(one);
        }
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        all.put("ready", isReady());
        all.put("parts", list);
        return all;
    }

    private static void answer(HttpExchange exchange, int status, String type, String text) throws IOException {
        try (exchange) {
            byte[] body = text.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", type);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.close();
    }
}
