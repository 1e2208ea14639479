package io.holdfast.redis.session;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/**
 * The protocol of the decision record, as its text and code have it: INCR for the first client, DECR and HSET
 * last_disconnect for the last one, and a timer that scans, and then deletes what has no references and was
 * disconnected more than 30 seconds ago. The control of {@link SessionsSimulation}: what cannot see its faults, sees
 * nothing.
 */
final class OriginalProtocol {

    private static final Duration GRACE = Duration.ofSeconds(30);

    private final Jedis jedis;
    private final RandomGenerator random;
    private final int instances;
    private final int sessions;
    private final ServedModel model = new ServedModel();
    private final List<Runnable> late = new ArrayList<>();
    /** What a scan has found, to be deleted a moment later. */
    private final Map<Integer, List<String>> found = new HashMap<>();

    OriginalProtocol(Jedis jedis, RandomGenerator random, int instances, int sessions) {
        this.jedis = jedis;
        this.random = random;
        this.instances = instances;
        this.sessions = sessions;
    }

    void run(int operations) {
        for (int i = 0; i < operations; i++) {
            operation(random.nextInt(instances), "s" + random.nextInt(sessions), random.nextInt(100));
        }
        late.forEach(Runnable::run);
        for (int instance = 0; instance < instances; instance++) {
            for (String id : model.servedBy(instance)) {
                release(instance, id, false);
            }
        }
        for (int i = 0; i < 10; i++) {
            model.advance(GRACE);
            scan(0);
            delete(0);
        }
    }

    private void operation(int instance, String id, int dice) {
        if (dice < 5 && !late.isEmpty()) {
            late.remove(random.nextInt(late.size())).run();
        } else if (dice < 20) {
            model.advance(Duration.ofMillis(3_000 + 3_000L * random.nextInt(8)));
        } else if (dice < 45) {
            if (!model.isServed(instance, id)) {
                call(() -> jedis.incr("ref_count:" + id));
                jedis.hset("session:" + id, "active", "1");
                model.serves(instance, id, 0);
            }
        } else if (dice < 65) {
            if (model.isServed(instance, id)) {
                release(instance, id, true);
            }
        } else if (dice < 80) {
            scan(instance);
        } else if (dice < 95) {
            delete(instance);
        } else if (dice >= 98) {
            model.died(instance);
            found.remove(instance);
        }
    }

    private void release(int instance, String id, boolean faulty) {
        model.stopped(instance, id);
        Runnable release = () -> {
            jedis.decr("ref_count:" + id);
            jedis.hset("session:" + id, "last_disconnect", Long.toString(model.passed()));
        };
        if (faulty) {
            call(release);
        } else {
            release.run();
        }
    }

    /** The same network: repeated after a lost reply, or delivered again later. */
    private void call(Runnable call) {
        int dice = random.nextInt(100);
        call.run();
        if (dice >= 4 && dice < 8) {
            call.run();
        } else if (dice >= 8 && dice < 15) {
            late.add(call);
        }
    }

    private void scan(int instance) {
        List<String> orphans = new ArrayList<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<String> page =
                    jedis.scan(cursor, new ScanParams().match("session:*").count(100));
            for (String key : page.getResult()) {
                String id = key.substring("session:".length());
                String count = jedis.get("ref_count:" + id);
                String disconnected = jedis.hget(key, "last_disconnect");
                if ((count == null || Long.parseLong(count) <= 0)
                        && disconnected != null
                        && model.passed() - Long.parseLong(disconnected) > GRACE.toMillis()) {
                    orphans.add(id);
                }
            }
            cursor = page.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        found.put(instance, orphans);
    }

    private void delete(int instance) {
        List<String> orphans = found.remove(instance);
        if (orphans != null) {
            for (String id : orphans) {
                jedis.del("session:" + id, "ref_count:" + id);
                model.effect(id, 0, Set.of());
            }
        }
    }

    long closedWhileServed() {
        return model.violations.size();
    }

    long leftOpen() {
        return jedis.dbSize();
    }
}
