package io.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.Settings;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.SessionSettings;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.RedisServer;
import java.time.Duration;
import java.util.List;

/** One instance with a session, a key and a writer of its own, and a session that all share. */
final class ServingInstance implements AutoCloseable {

    static final Duration LEASE = Duration.ofSeconds(3);
    static final Duration TIMEOUT = Duration.ofSeconds(1);

    final Holdfast holdfast;
    final Sessions sessions;
    final Aggregates<Long> counts;
    final ValueGraph graph;
    final GraphWriter writer;
    final ValueId put;
    final SessionHold own;
    final SessionHold shared;

    ServingInstance(RedisServer server, String name, List<String> closed, List<String> flushed) {
        holdfast = client(server, name);
        sessions = holdfast.sessions("rooms")
                .lease(LEASE)
                .grace(Duration.ZERO)
                .set(SessionSettings.SHARDS, 8)
                .onClose(claim -> closed.add(claim.id()))
                .start();
        counts = holdfast.aggregates("counts", Long.class, Long::sum)
                .set(AggregateSettings.LEASE, LEASE)
                .softWindow(Duration.ofMinutes(10))
                .hardWindow(Duration.ofMinutes(10))
                .sink(batch -> batch.forEach(flush -> flushed.add(flush.key() + "=" + flush.value())))
                .start();
        graph = holdfast.graph("docs");
        writer = graph.writer();
        put = writer.put(name.getBytes(UTF_8));
        writer.flush();
        own = sessions.acquire("own-" + name);
        shared = sessions.acquire("shared");
        counts.add("held-" + name, 1L);
        counts.publish();
    }

    @Override
    public void close() {
        holdfast.close();
    }

    static Holdfast client(RedisServer server, String name) {
        return Holdfast.builder(Settings.none())
                .uri(server.uri().toString())
                .instance(name)
                .set(LinkSettings.TIMEOUT, TIMEOUT)
                .set(GraphSettings.WRITER_LEASE, LEASE)
                .set(GraphSettings.SNAPSHOT_LEASE, LEASE)
                .open();
    }
}
