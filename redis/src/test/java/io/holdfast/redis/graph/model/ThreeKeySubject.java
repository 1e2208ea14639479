package io.holdfast.redis.graph.model;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The control: counting in three keys a value (value, counter, list of children), as the peer's description has it.
 * Edges and roots add one to a counter, dropping takes one away and frees whole subtrees in one script, leased roots are
 * a sorted set of deadlines. Nothing tells a repeat from a new call.
 */
public final class ThreeKeySubject implements Subject {

    private static final String ADD = """
        redis.call('SET', KEYS[1], ARGV[1])
        for i = 2, #ARGV do
          redis.call('RPUSH', KEYS[1] .. ':rl', ARGV[i])
          redis.call('INCR', ARGV[i] .. ':rc')
        end
        return 1
        """;
    private static final String ANCHOR =
            "redis.call('INCR', KEYS[1] .. ':rc') redis.call('ZADD', 'expiry', ARGV[1], KEYS[1]) return 1";
    private static final String ROOT =
            "redis.call('INCR', ARGV[1] .. ':rc') redis.call('SET', KEYS[1], ARGV[1]) return 1";
    private static final String DROP_FUNCTION = """
        local function drop(key)
          local todo = {key}
          while #todo > 0 do
            local k = table.remove(todo)
            if redis.call('DECR', k .. ':rc') <= 0 then
              for _, child in ipairs(redis.call('LRANGE', k .. ':rl', 0, -1)) do todo[#todo + 1] = child end
              redis.call('DEL', k, k .. ':rc', k .. ':rl')
            end
          end
        end
        """;
    private static final String DROP = DROP_FUNCTION + "drop(KEYS[1]) return 1";
    private static final String DROP_ROOT = DROP_FUNCTION + """
        local target = redis.call('GET', KEYS[1])
        redis.call('DEL', KEYS[1])
        if target then drop(target) end
        return 1
        """;
    private static final String EXPIRE = DROP_FUNCTION + """
        for _, key in ipairs(redis.call('ZRANGEBYSCORE', 'expiry', 0, ARGV[1])) do
          redis.call('ZREM', 'expiry', key)
          drop(key)
        end
        return 1
        """;

    private final FaultyWire wire;
    private final Jedis redis;
    private final Map<String, String> shas = new HashMap<>();

    public ThreeKeySubject(FaultyWire wire, Jedis redis) {
        this.wire = wire;
        this.redis = redis;
        for (String script : List.of(ADD, ANCHOR, ROOT, DROP, DROP_ROOT, EXPIRE)) {
            shas.put(script, redis.scriptLoad(script));
        }
    }

    private record Anchor(List<String> held) implements Lease {}

    @Override
    public Client start() {
        return new ClientProcess(wire.client());
    }

    private final class ClientProcess implements Client {

        private final UnifiedJedis jedis;

        private ClientProcess(UnifiedJedis jedis) {
            this.jedis = jedis;
        }

        @Override
        public Lease writer() {
            return new Anchor(new ArrayList<>());
        }

        /** What a writer puts is anchored until it is given up. */
        @Override
        public String put(Lease writer, String value, List<String> children) {
            String id = "v:" + UUID.randomUUID();
            List<String> arguments = new ArrayList<>(List.of(value));
            arguments.addAll(children);
            call(ADD, id, arguments);
            call(ANCHOR, id, List.of("9000000000000"));
            ((Anchor) writer).held().add(id);
            return id;
        }

        @Override
        public void flush(Lease writer) {}

        @Override
        public void setRoot(String name, String target) {
            String old = jedis.get("root:" + name);
            call(ROOT, "root:" + name, List.of(target));
            if (old != null) {
                call(DROP, old, List.of());
            }
        }

        @Override
        public void dropRoot(String name) {
            call(DROP_ROOT, "root:" + name, List.of());
        }

        @Override
        public Lease hold(String target) {
            call(ANCHOR, target, List.of("9000000000000"));
            return new Anchor(new ArrayList<>(List.of(target)));
        }

        @Override
        public void release(Lease lease) {
            for (String id : ((Anchor) lease).held()) {
                redis.zrem("expiry", id);
                call(DROP, id, List.of());
            }
        }

        @Override
        public void step() {
            call(EXPIRE, "expiry", List.of("1000"));
        }

        private void call(String script, String key, List<String> arguments) {
            said(() -> jedis.evalsha(shas.get(script), List.of(key), arguments));
        }
    }

    private static <T> T said(Supplier<T> call) {
        try {
            return call.get();
        } catch (JedisException e) {
            throw new Lost(e);
        }
    }

    @Override
    public void lapse(Lease lease) {
        ((Anchor) lease).held().forEach(id -> redis.zadd("expiry", 1, id));
    }

    @Override
    public void lapseAll() {
        redis.zrange("expiry", 0, -1).forEach(id -> redis.zadd("expiry", 1, id));
    }

    @Override
    public void drain() {
        redis.evalsha(shas.get(EXPIRE), List.of("expiry"), List.of("1000"));
    }

    @Override
    public Map<String, String> find(Collection<String> ids) {
        Map<String, String> found = new HashMap<>();
        for (String id : ids) {
            String value = redis.get(id);
            if (value != null) {
                found.put(id, value);
            }
        }
        return found;
    }

    @Override
    public Optional<String> rootTarget(String name) {
        return Optional.ofNullable(redis.get("root:" + name));
    }

    @Override
    public Map<String, String> contents() {
        Map<String, String> contents = new HashMap<>();
        for (String key : redis.keys("v:*")) {
            if (!key.endsWith(":rc") && !key.endsWith(":rl")) {
                contents.put(key, redis.get(key));
            }
        }
        return contents;
    }

    @Override
    public String faultsInside(Map<String, String> roots, Map<String, List<String>> children) {
        return "";
    }

    @Override
    public void close() {}
}
