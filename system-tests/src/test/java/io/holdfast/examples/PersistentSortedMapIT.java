package io.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.examples.PersistentSortedMap.View;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.Seeds;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

class PersistentSortedMapIT {

    private static final int OPERATIONS = 250;
    private static final int KEYS = 120;

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    /** A view, and what a map in memory said when it was taken. */
    private record Remembered(View view, NavigableMap<String, String> model) {}

    @Test
    void everyVersionReadsAsItWasAndExactlyTheLiveOnesRemain() {
        Seeds.of(5).run((seed, random) -> {
            server.flush();
            try (Holdfast holdfast = Holdfast.connect(server.uri().toString())) {
                ValueGraph graph = holdfast.graph("map");
                PersistentSortedMap map = new PersistentSortedMap(graph, "main");
                NavigableMap<String, String> model = new TreeMap<>();
                List<Remembered> versions = new ArrayList<>();
                for (int i = 0; i < OPERATIONS; i++) {
                    operate(map, model, versions, random);
                }
                map.put("last", "one");
                model.put("last", "one");
                versions.add(new Remembered(map.view().orElseThrow(), new TreeMap<>(model)));
                versions.forEach(PersistentSortedMapIT::assertEqualsModel);
                assertOnlyPagesOf(versions);
                while (versions.size() > 1) {
                    versions.remove(random.nextInt(versions.size() - 1)).view().close();
                }
                assertOnlyPagesOf(versions);
                versions.removeFirst().view().close();
                graph.root("main").drop();
                assertOnlyPagesOf(versions);
            }
        });
    }

    private static void operate(
            PersistentSortedMap map,
            NavigableMap<String, String> model,
            List<Remembered> versions,
            RandomGenerator random) {
        String key = key(random);
        switch (random.nextInt(10)) {
            case 0, 1, 2, 3, 4 -> {
                String value = "value " + random.nextInt(1_000);
                map.put(key, value);
                model.put(key, value);
            }
            case 5, 6, 7 -> {
                map.remove(key);
                model.remove(key);
            }
            case 8 -> map.view().ifPresent(view -> versions.add(new Remembered(view, new TreeMap<>(model))));
            default -> {
                if (!versions.isEmpty()) {
                    Remembered version = versions.get(random.nextInt(versions.size()));
                    String other = key(random);
                    String from = key.compareTo(other) < 0 ? key : other;
                    String to = key.compareTo(other) < 0 ? other : key;
                    assertThat(version.view().range(from, to))
                            .isEqualTo(version.model().subMap(from, to));
                    assertThat(version.view().get(key).orElse("none"))
                            .isEqualTo(version.model().getOrDefault(key, "none"));
                    if (versions.size() > 6) {
                        versions.remove(version);
                        version.view().close();
                    }
                }
            }
        }
    }

    private static String key(RandomGenerator random) {
        return "key " + random.nextInt(KEYS);
    }

    @Test
    void versionOfAReaderThatDiedGoesWhenItsLeaseLapses() {
        server.flush();
        try (Holdfast holdfast = Holdfast.connect(server.uri().toString())) {
            PersistentSortedMap map = new PersistentSortedMap(holdfast.graph("map"), "main");
            for (int i = 0; i < 50; i++) {
                map.put("key " + i, "old");
            }
            View died;
            try (Holdfast other = Holdfast.builder()
                    .uri(server.uri().toString())
                    .set(GraphSettings.SNAPSHOT_LEASE, Duration.ofMillis(300))
                    .open()) {
                died = new PersistentSortedMap(other.graph("map"), "main")
                        .view()
                        .orElseThrow();
                assertThat(died.get("key 7")).contains("old");
            }
            for (int i = 0; i < 50; i++) {
                map.put("key " + i, "new");
            }
            try (View live = map.view().orElseThrow()) {
                assertOnlyPagesOf(List.of(new Remembered(live, new TreeMap<>())));
                assertThat(live.get("key 7")).contains("new");
            }
        }
    }

    @Test
    void changesOfSeveralThreadsAreAllThere() {
        server.flush();
        try (Holdfast holdfast = Holdfast.connect(server.uri().toString())) {
            ValueGraph graph = holdfast.graph("map");
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int thread = 0; thread < 4; thread++) {
                    String prefix = "thread " + thread + " key ";
                    threads.execute(() -> {
                        PersistentSortedMap map = new PersistentSortedMap(graph, "main");
                        for (int i = 0; i < 25; i++) {
                            map.put(prefix + i, "value");
                        }
                    });
                }
            }
            try (View view = new PersistentSortedMap(graph, "main").view().orElseThrow()) {
                assertThat(view.range("", "z")).hasSize(100);
                assertOnlyPagesOf(List.of(new Remembered(view, new TreeMap<>())));
            }
        }
    }

    private static void assertEqualsModel(Remembered version) {
        assertThat(version.view().range("", "z")).isEqualTo(version.model());
    }

    /** The store has the pages of these versions and no other, as soon as what went is reclaimed. */
    private static void assertOnlyPagesOf(List<Remembered> versions) {
        Set<String> live = new HashSet<>();
        versions.forEach(version ->
                version.view().pages().stream().map(ValueId::toString).forEach(live::add));
        try (Jedis redis = server.client()) {
            await().atMost(Duration.ofSeconds(30))
                    .untilAsserted(() -> assertThat(stored(redis)).isEqualTo(live));
        }
    }

    private static Set<String> stored(Jedis redis) {
        Set<String> ids = new HashSet<>();
        for (int shelf = 0; shelf < 64; shelf++) {
            redis.hkeys(("hf:{graph:map:0}:values:" + shelf).getBytes(StandardCharsets.US_ASCII))
                    .forEach(id -> ids.add(HexFormat.of().formatHex(id)));
        }
        return ids;
    }
}
