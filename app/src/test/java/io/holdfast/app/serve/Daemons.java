package io.holdfast.app.serve;

import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.testkit.SharedRedis;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Daemons over a Redis of the test, each with a file of its own settings, and what their port answers. */
final class Daemons implements BeforeEachCallback, AfterEachCallback {

    static final Duration PATIENCE = Duration.ofSeconds(30);

    private final SharedRedis redis;
    private final HttpClient http = HttpClient.newHttpClient();
    private Path folder = Path.of("");

    Daemons(SharedRedis redis) {
        this.redis = redis;
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        folder = Files.createTempDirectory("holdfast-daemons-");
    }

    @Override
    public void afterEach(ExtensionContext context) {
        ScratchFolder.remove(folder);
    }

    Path at(String name) {
        return folder.resolve(name);
    }

    Path config(String... lines) throws IOException {
        String head = "redis.uri = " + redis.uri() + "\nserve.listen = 127.0.0.1:0\n";
        return Files.writeString(at("holdfast.properties"), head + String.join("\n", lines) + "\n");
    }

    Daemon start(String... lines) throws IOException {
        return Daemon.start(ServeSettings.read(config(lines), new Properties(), Map.of()));
    }

    HttpResponse<String> get(Daemon daemon, String path) {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + daemon.port() + path))
                    .build();
            return http.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    void awaitReady(Daemon daemon) {
        await().atMost(PATIENCE).until(() -> get(daemon, "/readyz").statusCode() == 200);
    }

    /** What its health says of a part. */
    JsonObject part(Daemon daemon, String name) {
        JsonObject health =
                JsonParser.parseString(get(daemon, "/healthz").body()).getAsJsonObject();
        for (JsonElement part : health.get("parts").getAsJsonArray()) {
            if (part.getAsJsonObject().get("part").getAsString().equals(name)) {
                return part.getAsJsonObject();
            }
        }
        throw new AssertionError(name + " is not in " + health);
    }

    String detail(Daemon daemon, String part) {
        JsonElement detail = part(daemon, part).get("detail");
        return detail == null || detail.isJsonNull() ? "" : detail.getAsString();
    }

    void awaitUp(Daemon daemon, String part) {
        await().atMost(PATIENCE).until(() -> part(daemon, part).get("up").getAsBoolean());
    }

    void awaitFailure(Daemon daemon, String part, String words) {
        await().atMost(PATIENCE).until(() -> {
            JsonElement failure = part(daemon, part).get("failure");
            return failure != null
                    && !failure.isJsonNull()
                    && failure.getAsString().contains(words);
        });
    }
}
