package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import redis.clients.jedis.Jedis;

/** All of a graph, read from the server key by key, and counted anew. */
final class StoreState {

    record Value(int holds, byte[] bytes, List<Place> children) {}

    private final Jedis redis;
    private final String prefix;
    final Map<Place, Value> values = new TreeMap<>();
    private final Map<String, Integer> outside = new TreeMap<>();
    private final Map<String, Integer> there = new TreeMap<>();
    private final Map<Place, Integer> expected = new HashMap<>();
    private final Map<String, Integer> expectedOutside = new HashMap<>();
    private final Set<String> erased = new TreeSet<>();

    StoreState(Jedis redis, String prefix) {
        this.redis = redis;
        this.prefix = prefix;
        Set<String> whole = new TreeSet<>();
        for (String part : List.of("v", "e", "c")) {
            redis.keys(prefix.replace("{", "\\{").replace("}", "\\}") + part + ":*")
                    .forEach(key -> whole.add(key.substring(key.length() - Place.SEGMENT_LENGTH)));
        }
        assertThat(new TreeSet<>(redis.zrange(prefix + "segments", 0, -1)))
                .as("segments")
                .isEqualTo(whole);
        whole.forEach(this::readWhole);
        redis.hgetAll(bytes(prefix + "small")).forEach((name, packed) -> readPacked(text(name), packed));
    }

    private void readWhole(String segment) {
        byte[] counts = redis.get(bytes(prefix + "c:" + segment));
        List<byte[]> bytes = redis.lrange(bytes(prefix + "v:" + segment), 0, -1);
        Map<String, String> edges = redis.hgetAll(prefix + "e:" + segment);
        if (counts != null) {
            outside.put(segment, ByteBuffer.wrap(counts).getInt(0));
            there.put(segment, ByteBuffer.wrap(counts).getInt(4));
        }
        for (int i = 0; i < bytes.size(); i++) {
            int value = i + Place.FIRST;
            boolean counted = counts != null && 4 * value + 4 <= counts.length;
            int holds = counted ? ByteBuffer.wrap(counts).getInt(4 * value) : 0;
            List<Place> children = children(segment, edges.getOrDefault(String.valueOf(value), ""));
            if (holds > 0 || bytes.get(i).length > 0) {
                values.put(new Place(segment, value), new Value(holds, bytes.get(i), children));
            }
        }
    }

    private void readPacked(String segment, byte[] bytes) {
        Packed packed = Packed.decode(bytes);
        outside.put(segment, packed.outside());
        there.put(segment, (int)
                packed.entries().stream().filter(it -> it.holds() > 0).count());
        for (Packed.Entry entry : packed.entries()) {
            values.put(
                    new Place(segment, entry.value()),
                    new Value(entry.holds(), entry.bytes(), children(segment, entry.children())));
        }
    }

    private static List<Place> children(String segment, String runs) {
        List<Place> children = new ArrayList<>();
        for (String run : runs.isEmpty() ? new String[0] : runs.split(" ")) {
            String[] parts = run.split("/");
            String of = parts.length == 1 ? segment : parts[0];
            for (String value : parts[parts.length - 1].split(",")) {
                children.add(new Place(of, Integer.parseInt(value)));
            }
        }
        return children;
    }

    /**
     * Compares every number with what it must be.
     *
     * @param wasTorn whether equal values may be there twice: one as a torn call left it, one that was put after it
     */
    void check(boolean wasTorn) {
        values.forEach((place, value) -> {
            if (value.holds() > 0) {
                value.children().forEach(child -> hold(child, !child.segment().equals(place.segment())));
            }
        });
        redis.hgetAll(prefix + "roots").values().forEach(record -> hold(Place.parse(record.split(" ")[1]), true));
        for (String lease : redis.zrange(prefix + "leases", 0, -1)) {
            redis.hkeys(prefix + "lease:" + lease).stream()
                    .filter(field -> field.length() > 16 && field.charAt(16) == '.')
                    .forEach(field -> hold(Place.parse(field), true));
        }
        for (String item : redis.zrange(prefix + "doomed", 0, -1)) {
            String[] parts = item.split(" ");
            String[] of = parts[3].split(",");
            if (parts[2].equals("0")) {
                for (String value : of) {
                    erased.add(parts[0] + '.' + value);
                }
            } else {
                assertThat(of).as(item).hasSize(Integer.parseInt(parts[2]));
                for (String value : of) {
                    hold(new Place(parts[0], Integer.parseInt(value)), true);
                }
            }
        }
        values.forEach((place, value) -> {
            assertThat(value.holds()).as("holds on %s", place).isEqualTo(expected.getOrDefault(place, 0));
            if (value.holds() == 0) {
                assertThat(erased.contains(place.toString()) || erased.contains(place.segment() + ".*"))
                        .as("%s has ended and will be erased", place)
                        .isTrue();
            } else {
                assertThat(value.bytes()).as("bytes of %s", place).isNotEmpty();
            }
        });
        assertThat(values.keySet()).as("held").containsAll(expected.keySet());
        outside.forEach((segment, count) -> {
            assertThat(count).as("held outside %s", segment).isEqualTo(expectedOutside.getOrDefault(segment, 0));
            assertThat(there.get(segment)).as("values of %s", segment).isEqualTo((int) values.entrySet().stream()
                    .filter(it -> it.getKey().segment().equals(segment)
                            && it.getValue().holds() > 0)
                    .count());
        });
        String counted = redis.hget(prefix + "meta", "values");
        long alive = values.values().stream().filter(it -> it.holds() > 0).count();
        assertThat(Long.parseLong(counted == null ? "0" : counted)).as("values").isEqualTo(alive);
        assertThat(redis.hget(prefix + "meta", "miscounts")).as("miscounts").isNull();
        if (!"content".equals(redis.hget(prefix + "meta", "addressing"))) {
            return;
        }
        assertThat(redis.hlen(prefix + "ids")).as("content ids").isBetween(wasTorn ? 0 : alive, alive);
        redis.hgetAll(bytes(prefix + "ids"))
                .values()
                .forEach(place -> assertThat(values)
                        .hasEntrySatisfying(
                                Place.parse(text(place)),
                                value -> assertThat(value.holds()).isPositive()));
    }

    private void hold(Place place, boolean fromOutside) {
        expected.merge(place, 1, Integer::sum);
        if (fromOutside) {
            expectedOutside.merge(place.segment(), 1, Integer::sum);
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, US_ASCII);
    }
}
