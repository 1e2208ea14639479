package io.holdfast.examples.visits;

import io.holdfast.HoldfastException;
import io.holdfast.app.aggregates.EmbeddedDatabase;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.redis.aggregate.Position;
import io.holdfast.testkit.ChildJvm;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.sql.DataSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.resps.StreamEntry;

/**
 * One of several processes that count page visits. The group of the stream gives each message to one of them; what one of them
 * did not acknowledge before it died, another claims. Messages that are claimed come in no order, so they are named by their id.
 *
 * <pre>
 *   XREADGROUP, XAUTOCLAIM -> visits.add(page, visit, id)     kept in memory, added up
 *   durable                -> XACK                            Redis has it: the stream may forget the message
 *   nobody adds any more   -> JdbcSink                        one row per page and epoch
 * </pre>
 */
public final class VisitCounter {

    static final String STREAM = "page-visits";
    static final String GROUP = "counters";
    static final Duration LEASE = Duration.ofSeconds(2);

    private final String name;
    private final Jedis stream;
    private final Aggregates<PageVisits> visits;
    private final Queue<StreamEntryID> durable = new ConcurrentLinkedQueue<>();

    private VisitCounter(String name, Jedis stream, Aggregates<PageVisits> visits) {
        this.name = name;
        this.stream = stream;
        this.visits = visits;
    }

    static AggregatesBuilder<PageVisits> aggregates(Holdfast holdfast, DataSource database) {
        return holdfast.aggregates("visits", PageVisits.class, PageVisits::merge)
                .sink(JdbcSink.to(database))
                .softWindow(Duration.ofSeconds(2))
                .hardWindow(Duration.ofSeconds(4))
                .publishInterval(Duration.ofMillis(100))
                .set(AggregateSettings.LEASE, LEASE)
                .set(AggregateSettings.CLAIM, LEASE);
    }

    /** {@code main REDIS NAME DATABASE-FOLDER}. */
    public static void main(String[] arguments) {
        URI redis = URI.create(arguments[0]);
        try (Holdfast holdfast = Holdfast.builder()
                        .uri(arguments[0])
                        .instance(arguments[1])
                        .open();
                Jedis stream = new Jedis(redis.getHost(), redis.getPort());
                var database = EmbeddedDatabase.in(Path.of(arguments[2]))) {
            Aggregates<PageVisits> visits = aggregates(holdfast, database).start();
            VisitCounter counter = new VisitCounter(arguments[1], stream, visits);
            ChildJvm.sayReady();
            while (true) {
                counter.step();
            }
        }
    }

    private void step() {
        var fresh = stream.xreadGroup(
                GROUP,
                name,
                XReadGroupParams.xReadGroupParams().count(200).block(100),
                Map.of(STREAM, StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY));
        if (fresh != null) {
            fresh.forEach(one -> add(one.getValue()));
        }
        // What somebody has had for a while without acknowledging it; he may be dead, or just slow.
        add(stream.xautoclaim(
                        STREAM,
                        GROUP,
                        name,
                        LEASE.toMillis(),
                        new StreamEntryID("0-0"),
                        XAutoClaimParams.xAutoClaimParams().count(200))
                .getValue());
        for (StreamEntryID id = durable.poll(); id != null; id = durable.poll()) {
            stream.xack(STREAM, GROUP, id);
        }
    }

    private void add(List<StreamEntry> messages) {
        for (StreamEntry message : messages) {
            Map<String, String> fields = message.getFields();
            StreamEntryID id = message.getID();
            try {
                visits.add(
                                fields.getOrDefault("page", "?"),
                                PageVisits.of(fields),
                                Position.id(STREAM, id.toString()),
                                PageVisits.time(fields))
                        .thenRun(() -> durable.add(id));
            } catch (HoldfastException e) {
                if (!e.isRetryable()) {
                    throw e;
                }
                return; // no room: the rest is claimed again later
            }
        }
    }
}
