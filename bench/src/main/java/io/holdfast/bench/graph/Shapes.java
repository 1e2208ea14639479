package io.holdfast.bench.graph;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * Graphs of every shape that ever kept a server busy, put and then reclaimed by hand, every call watched. The duties are
 * the client's own; only the thread that steps them is this one.
 */
final class Shapes implements AutoCloseable {

    private static final Duration IDLE = Duration.ofMillis(500);

    private final LongestCall calls;
    private final Yardstick yardstick;
    private final RedisLink link;
    private final DutyRunner duties = DutyRunner.manual(Time.system());
    private final ValueGraph graph;
    private final RandomGenerator random = new SplittableRandom(5);
    private long freed;

    Shapes(RedisServer server, LongestCall calls) {
        this.calls = calls;
        this.yardstick = new Yardstick(server);
        Notices notices = new Notices();
        notices.add(reclaimed -> freed += reclaimed.ids().size());
        Settings settings = Settings.none().set(LinkSettings.URI, server.uri().toString());
        this.link = RedisLink.connect(settings);
        this.graph = ValueGraph.open(
                new Client(link, duties, notices, HolderId.newIncarnation("bench"), settings, Time.system()),
                "shapes",
                null);
    }

    /** Puts a graph and answers its top. */
    interface Shape {
        ValueId put(Putting putting);
    }

    /** A watched put. */
    interface Putting {
        ValueId put(byte[] value, List<ValueId> children);
    }

    /**
     * The longest call while the shape was put, and while it was reclaimed, in milliseconds.
     *
     * @param most the longest step by the slow log, but for one in a thousand
     * @param nothing the longest of calls that touch nothing, one after each step; 0 if there were none
     * @param course the steps
     */
    record Seen(
            double putting,
            double reclaiming,
            double reclaimingByTheWall,
            double most,
            double nothing,
            Course course) {}

    Seen measure(Shape shape) {
        calls.reset();
        Slot slot = new Slot();
        try (GraphWriter writer = graph.writer()) {
            ValueId top = shape.put((value, children) -> {
                calls.watch(() -> slot.id = writer.put(value, children));
                duties.runDue();
                return slot.id;
            });
            calls.watch(() -> graph.root("main").set(top));
            calls.watch(writer::close);
        }
        double putting = calls.longestMillis();
        calls.reset();
        calls.watch(() -> graph.root("main").drop());
        // Between two steps the duty leaves the server alone for a moment; when there is nothing to do, for a second.
        yardstick.reset();
        Course course = new Course();
        while (duties.untilNext().orElse(IDLE).compareTo(IDLE) < 0) {
            long before = freed;
            double millis = calls.watch(duties::runDue);
            course.add(millis, freed - before);
            if (millis > 0) {
                yardstick.call();
            }
        }
        return new Seen(
                putting,
                calls.longestMillis(),
                calls.longestByTheWallMillis(),
                calls.longestOfMostMillis(),
                yardstick.longestMillis(),
                course);
    }

    private static final class Slot {
        private ValueId id = ValueId.parse("00".repeat(16));
    }

    Shape tree(Tree tree) {
        return putting -> {
            List<ValueId> ids = new ArrayList<>();
            for (int i = 0; i < tree.size(); i++) {
                List<ValueId> children =
                        Arrays.stream(tree.children().get(i)).mapToObj(ids::get).toList();
                ids.add(putting.put(tree.values().get(i), children));
            }
            return ids.getLast();
        };
    }

    Shape chain(int length) {
        return putting -> {
            ValueId last = putting.put(bytes(100), List.of());
            for (int i = 1; i < length; i++) {
                last = putting.put(bytes(100), List.of(last));
            }
            return last;
        };
    }

    /** One value with many children. */
    Shape fan(int children) {
        return putting -> putting.put(bytes(100), some(putting, children));
    }

    /** Layers in which every value has every value of the layer below as a child. */
    Shape diamonds(int layers, int width) {
        return putting -> {
            List<ValueId> below = some(putting, width);
            for (int layer = 1; layer < layers; layer++) {
                List<ValueId> next = new ArrayList<>();
                for (int i = 0; i < width; i++) {
                    next.add(putting.put(bytes(100), below));
                }
                below = next;
            }
            return putting.put(bytes(100), below);
        };
    }

    /** A chain in which every value has many other children, each with a child of its own: whoever follows the chain leaves them behind. */
    Shape families(int length, int children) {
        return putting -> {
            ValueId last = putting.put(bytes(100), List.of());
            for (int i = 1; i < length; i++) {
                List<ValueId> family = new ArrayList<>();
                for (int child = 0; child < children; child++) {
                    family.add(putting.put(bytes(100), some(putting, 1)));
                }
                family.add(last);
                last = putting.put(bytes(100), family);
            }
            return last;
        };
    }

    Shape oneValue(int bytes) {
        return putting -> putting.put(bytes(bytes), List.of());
    }

    /** Parents of many values that are so large that they are kept in chunks. */
    Shape largeChildren(int children, int bytes) {
        return putting -> {
            List<ValueId> below = new ArrayList<>();
            for (int i = 0; i < children; i++) {
                below.add(putting.put(bytes(bytes), List.of()));
            }
            return putting.put(bytes(100), below);
        };
    }

    private List<ValueId> some(Putting putting, int count) {
        List<ValueId> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ids.add(putting.put(bytes(100), List.of()));
        }
        return ids;
    }

    private byte[] bytes(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return bytes;
    }

    @Override
    public void close() {
        graph.close();
        link.close();
        yardstick.close();
    }
}
