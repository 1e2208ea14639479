package io.holdfast.redis.graph.write;

import static io.holdfast.redis.graph.write.GraphClient.PREFIX;
import static io.holdfast.redis.graph.write.GraphClient.bytes;
import static io.holdfast.redis.graph.write.GraphClient.put;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.ServerLog;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/**
 * The log of a real server is cut in the middle of one write of a call, as a power failure does it, and the server is
 * restarted twice. The first restart leaves the beginning of the call in the file, the second brings it back.
 */
class TornLogIT {

    private static final int LEAVES = 100;

    private final Random random = new Random(11);
    private Place page = new Place("0000000000000000", 2);
    private List<Place> leaves = List.of();

    @Test
    void dropThatIsCutLosesNothingThatIsHeld() {
        cutEverywhere(client -> client.roots.drop("other"));
    }

    @Test
    void putThatIsCutLosesNothingThatIsHeld() {
        cutEverywhere(client -> {
            Writer writer = client.writer();
            client.roots.set("other", null, put(writer, "new", leaves.get(1), leaves.get(2)));
        });
    }

    @Test
    void stepThatIsCutLosesNothingThatIsHeld() {
        cutEverywhere(client -> {
            client.roots.drop("other");
            client.drainer.stepOnce();
            client.drainer.stepOnce();
        });
    }

    private void cutEverywhere(Consumer<GraphClient> call) {
        for (int write = 3, writes = 3; write <= writes; write += 2) {
            try (RedisServer server = RedisServer.setup().durable().start()) {
                writes = cut(server, write, call);
            }
        }
    }

    /** Answers how many writes the last script made. */
    private int cut(RedisServer server, int write, Consumer<GraphClient> call) {
        try (RedisLink link = link(server)) {
            GraphClient client = new GraphClient(link, "before", random);
            build(client);
            try (Jedis redis = server.client()) {
                redis.hset(PREFIX + "meta", "quiet", "0");
            }
            call.accept(client);
        }
        ServerLog log = new ServerLog(server);
        server.kill();
        int writes = log.cutLastScript(write);
        server.restart();
        try (RedisLink link = link(server)) { // clients go on without the call
            GraphClient client = new GraphClient(link, "between", random);
            client.roots.set("third", null, put(client.writer(), "third", leaves.get(3)));
        }
        server.kill();
        server.restart();
        try (RedisLink link = link(server);
                Jedis redis = server.client()) {
            GraphClient client = new GraphClient(link, "after", random);
            assertThatThrownBy(client.drainer::stepOnce)
                    .as("cut in write %d of %d", write, writes)
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            failure -> assertThat(RedisLink.isTorn(failure)).isTrue());
            client.drainer.step(); // repairs
            Place main = client.roots.read("main").target().orElseThrow();
            assertThat(main).isEqualTo(page);
            assertThat(client.reader.get(main).children()).isEqualTo(leaves);
            for (int i = 0; i < LEAVES; i++) {
                assertThat(client.reader.get(leaves.get(i)).bytes()).isEqualTo(bytes("leaf " + i));
            }
            assertThat(client.reader
                            .get(client.roots.read("third").target().orElseThrow())
                            .bytes())
                    .isEqualTo(bytes("third"));
            client.roots.readAll("").keySet().forEach(client.roots::drop);
            for (int steps = 0; redis.hlen(PREFIX + "meta") > 0 && values(redis) > 0; steps++) {
                redis.hset(PREFIX + "meta", "quiet", "0");
                redis.hdel(PREFIX + "meta", "drainer");
                redis.zrange(PREFIX + "leases", 0, -1).forEach(lease -> redis.zadd(PREFIX + "leases", 1, lease));
                client.drainer.step();
                assertThat(steps).isLessThan(500);
            }
            assertThat(redis.hget(PREFIX + "meta", "miscounts")).isNull();
        }
        return writes;
    }

    private static long values(Jedis redis) {
        return Long.parseLong(redis.hget(PREFIX + "meta", "values"));
    }

    private void build(GraphClient client) {
        leaves = new ArrayList<>();
        Writer writer = client.writer();
        for (int i = 0; i < LEAVES; i++) {
            leaves.add(put(writer, "leaf " + i));
        }
        page = put(writer, "page", leaves.toArray(Place[]::new));
        client.roots.set("main", null, page);
        client.roots.set("other", null, put(writer, "other", leaves.getFirst(), put(writer, "inner")));
        writer.close();
    }

    private static RedisLink link(RedisServer server) {
        return RedisLink.connect(
                Settings.none().set(LinkSettings.URI, server.uri().toString()));
    }
}
