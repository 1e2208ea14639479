package io.holdfast.redis.graph;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.UnifiedJedis;

/** A client whose duties the test steps by hand, and the store laid open. */
final class GraphFixture implements AutoCloseable {

    static final String NAME = "docs";

    final Settings settings;
    final RedisLink link;
    final DutyRunner duties = DutyRunner.manual(Time.system());
    final Notices notices = new Notices();
    final Client client;
    final ValueGraph graph;

    GraphFixture(String uri, Settings settings) {
        this(RedisLink.connect(settings.set(LinkSettings.URI, uri)), settings);
    }

    GraphFixture(UnifiedJedis jedis, Settings settings) {
        this(RedisLink.using(jedis), settings);
    }

    private GraphFixture(RedisLink link, Settings settings) {
        this.link = link;
        this.settings = settings;
        this.client = new Client(link, duties, notices, HolderId.newIncarnation("test"), settings, Time.system());
        this.graph = ValueGraph.open(client, NAME, null);
    }

    static <T> Settings with(Setting<T> setting, T value) {
        return Settings.none().set(setting, value);
    }

    /** One more duty that reclaims, for a test that steps it or lets it run. */
    CascadeDuty cascade() {
        return new CascadeDuty(NAME, 16, graph.scripts(), notices, client.self(), client.time());
    }

    /** Steps of reclaiming until there is nothing left to do; answers how many values were freed. */
    long drain() {
        long freed = 0;
        for (int steps = 0; steps < 1_000_000; steps++) {
            GraphScripts.Stepped stepped = graph.scripts().step();
            freed += stepped.freed();
            if (!stepped.hasMore()) {
                return freed;
            }
        }
        throw new AssertionError("a million steps and still something to do");
    }

    /** Lets every lease reach its deadline now, as the server sees it. */
    static void lapseAll(Jedis jedis) {
        byte[] leases = key("leases");
        jedis.zrange(leases, 0, -1).forEach(lease -> jedis.zadd(leases, 1, lease));
    }

    static byte[] key(String part) {
        return ("hf:{graph:" + NAME + ":0}:" + part).getBytes(StandardCharsets.US_ASCII);
    }

    /** The key of the hash that has a field of values, counts or edges: on the shelf that the field says. */
    static byte[] key(String part, byte[] field) {
        int at = field[Shelves.AT] & 0xff;
        int place = part.equals("counts") ? at : at % Shelves.COUNT;
        return field.length < ValueId.CONTENT ? key(part + ":" + place) : key(part);
    }

    /** The keys that values, counts or edges may have. */
    static List<byte[]> keys(String part) {
        List<byte[]> keys = new ArrayList<>(List.of(key(part)));
        IntStream.range(0, 256).forEach(shelf -> keys.add(key(part + ":" + shelf)));
        return keys;
    }

    /** The entries of values, counts or edges on all shelves. */
    static List<Map.Entry<byte[], byte[]>> entries(Jedis jedis, String part) {
        List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
        keys(part).forEach(key -> entries.addAll(jedis.hgetAll(key).entrySet()));
        return entries;
    }

    static List<byte[]> values(Jedis jedis) {
        return entries(jedis, "values").stream().map(Map.Entry::getValue).toList();
    }

    static long count(Jedis jedis, String part) {
        return keys(part).stream().mapToLong(jedis::hlen).sum();
    }

    /** How many entries each part of the shard has, without what is allowed to stay. */
    static Map<String, Long> parts(Jedis jedis) {
        Map<String, Long> parts = new HashMap<>();
        for (String part : new String[] {"values", "counts", "edges"}) {
            parts.put(part, count(jedis, part));
        }
        for (String part : new String[] {"roots", "lease-info"}) {
            parts.put(part, jedis.hlen(key(part)));
        }
        parts.put("leases", jedis.zcard(key("leases")));
        parts.put("held", jedis.zcard(key("held")));
        parts.put("doomed", jedis.llen(key("doomed")));
        return parts;
    }

    @Override
    public void close() {
        graph.close();
        link.close();
    }
}
