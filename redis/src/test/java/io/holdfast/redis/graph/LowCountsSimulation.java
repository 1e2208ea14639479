package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.Settings;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Some counts are lower than they should be, which nothing of Holdfast does to them. A value with such a count may go too
 * early, and with it what only it holds; what is held by others whose counts are right may not.
 */
class LowCountsSimulation {

    private static final int VALUES = 45;
    private static final int ROOTS = 6;

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    @Test
    void whatValuesOfRightCountsHoldStaysThoughOthersGoTwice() {
        AtomicInteger lowered = new AtomicInteger();
        Seeds.of(120).run((seed, random) -> {
            Addressing addressing = random.nextInt(3) == 0 ? Addressing.CONTENT : Addressing.TIME;
            Settings settings = GraphFixture.with(GraphSettings.ADDRESSING, addressing)
                    .set(GraphSettings.STEP_EDGES, random.nextBoolean() ? 16 : 768);
            try (Jedis redis = server.client()) {
                redis.flushAll();
                try (GraphFixture fixture = new GraphFixture(server.uri().toString(), settings)) {
                    lowered.addAndGet(new Damaged(fixture, redis, random).run());
                }
            }
        });
        assertThat(lowered).hasPositiveValue();
    }

    /** A graph of which some counts are made too low. */
    private static final class Damaged {

        private final GraphFixture fixture;
        private final ValueGraph graph;
        private final Jedis redis;
        private final RandomGenerator random;
        private final Map<ValueId, List<ValueId>> children = new LinkedHashMap<>();
        private final Map<String, ValueId> roots = new LinkedHashMap<>();
        private final Set<ValueId> tooLow = new HashSet<>();

        Damaged(GraphFixture fixture, Jedis redis, RandomGenerator random) {
            this.fixture = fixture;
            this.graph = fixture.graph;
            this.redis = redis;
            this.random = random;
        }

        /** Answers how many counts were made too low. */
        int run() {
            put();
            fixture.drain();
            children.keySet().forEach(this::lower);
            for (String root : List.copyOf(roots.keySet())) {
                roots.remove(root);
                if (random.nextBoolean()) {
                    graph.root(root).drop();
                } else {
                    try (GraphWriter writer = graph.writer()) {
                        graph.root(root).set(writer.put(bytes("moved on")));
                    }
                }
                if (random.nextBoolean()) {
                    fixture.drain();
                }
                Set<ValueId> safe = safe();
                assertThat(graph.findAll(List.copyOf(safe)).keySet())
                        .as("%s ended", root)
                        .containsAll(safe);
            }
            return tooLow.size();
        }

        private void put() {
            List<ValueId> ids = new ArrayList<>();
            int large = random.nextInt(8, 5 * VALUES); // one graph of five has a value in chunks
            try (GraphWriter writer = graph.writer()) {
                for (int i = 0; i < VALUES; i++) {
                    List<ValueId> some = new ArrayList<>();
                    for (int n = i < 8 ? 0 : i == large ? 300 : random.nextInt(1, 6); n > 0; n--) {
                        some.add(ids.get(random.nextInt(ids.size())));
                    }
                    ids.add(putOne(writer, bytes("value " + i), some));
                    if (random.nextInt(6) == 0) {
                        writer.flush();
                        graph.shelves().moveTo(random.nextInt(4));
                    }
                }
                for (int i = 0; i < ROOTS; i++) {
                    ValueId target = ids.get(VALUES - 1 - random.nextInt(25));
                    graph.root("root" + i).set(target);
                    roots.put("root" + i, target);
                }
            }
        }

        /** As it is, or as the next version of one that was put before. */
        private ValueId putOne(GraphWriter writer, byte[] value, List<ValueId> some) {
            List<ValueId> before = children.keySet().stream()
                    .filter(id -> !childrenOf(id).isEmpty() && childrenOf(id).size() < 60)
                    .toList();
            ValueId id;
            if (some.isEmpty() || before.isEmpty() || random.nextInt(3) > 0) {
                id = writer.put(value, some);
            } else {
                ValueId earlier = before.get(random.nextInt(before.size()));
                List<ValueId> known = childrenOf(earlier);
                List<ValueId> next = new ArrayList<>(known);
                next.set(random.nextInt(next.size()), some.getFirst());
                id = writer.put(value, next, new Predecessor(earlier, known));
                some = next;
            }
            children.put(id, some);
            return id;
        }

        private List<ValueId> childrenOf(ValueId id) {
            return children.getOrDefault(id, List.of());
        }

        private void lower(ValueId id) {
            byte[] count = redis.hget(GraphFixture.key("counts", id.raw()), id.raw());
            if (count == null || random.nextInt(4) > 0) {
                return;
            }
            String[] parts = new String(count, US_ASCII).split("(?=\\|)", 2);
            int holds = Integer.parseInt(parts[0]);
            if (holds > 1) {
                String shape = parts.length > 1 ? parts[1] : "";
                redis.hset(GraphFixture.key("counts", id.raw()), id.raw(), bytes(random.nextInt(1, holds) + shape));
                tooLow.add(id);
            }
        }

        /** What the roots hold, without going through a value whose count is too low. */
        private Set<ValueId> safe() {
            Set<ValueId> safe = new HashSet<>();
            Deque<ValueId> open = new ArrayDeque<>(roots.values());
            while (!open.isEmpty()) {
                ValueId id = open.pop();
                if (!tooLow.contains(id) && safe.add(id)) {
                    open.addAll(childrenOf(id));
                }
            }
            return safe;
        }
    }
}
