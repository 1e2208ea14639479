package io.holdfast.redis.graph.write;

import io.holdfast.HolderId;
import io.holdfast.Time;
import io.holdfast.redis.graph.read.Holds;
import io.holdfast.redis.graph.read.Reader;
import io.holdfast.redis.graph.reclaim.Drainer;
import io.holdfast.redis.graph.store.GraphContext;
import io.holdfast.redis.graph.store.LeaseKeeper;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.SegmentNames;
import io.holdfast.redis.graph.store.Store;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.random.RandomGenerator;

/** All phases of a graph for one client, whose duties the test steps by hand. */
final class GraphClient {

    static final String NAME = "docs";
    static final String PREFIX = "hf:{graph:docs:0}:";
    static final Duration LEASE = Duration.ofMinutes(30);

    private final HolderId self;
    final Store store;
    final LeaseKeeper leases;
    final GraphContext context;
    final Roots roots;
    final Reader reader;
    final Holds holds;
    final Drainer drainer;

    GraphClient(RedisLink link, String instance, RandomGenerator random) {
        self = new HolderId(instance, random.nextLong());
        Time time = Time.system();
        store = new Store(link, new Keyspace("graph", NAME, 0), self, 1_000);
        leases = new LeaseKeeper(NAME, store, self, time, random, Duration.ofSeconds(10));
        drainer = new Drainer(NAME, store, 1_000, time);
        context = new GraphContext(NAME, store, leases, new SegmentNames(time, random), time, random, drainer::wake);
        leases.heard(store.open("time", LEASE.toMillis()).serverMillis());
        roots = new Roots(context);
        reader = new Reader(context);
        holds = new Holds(context);
    }

    Writer writer() {
        Writer writer = new Writer(context, LEASE);
        roots.add(writer);
        return writer;
    }

    boolean isHolder(String holder) {
        return self.toString().equals(holder);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static Place put(Writer writer, String text, Place... children) {
        return Splitter.put(writer, bytes(text), List.of(children));
    }
}
