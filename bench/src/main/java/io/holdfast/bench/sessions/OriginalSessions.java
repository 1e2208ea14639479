package io.holdfast.bench.sessions;

import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/** The decision record's protocol, pipelined as well as it can be: INCR, DECR, HSET, and a scan for orphans. */
final class OriginalSessions {

    private static final int CHUNK = 100;

    private final Jedis jedis;

    OriginalSessions(Jedis jedis) {
        this.jedis = jedis;
    }

    /** A first client in and a last client out, for each session. */
    void acquireAndRelease(List<String> ids) {
        for (int from = 0; from < ids.size(); from += CHUNK) {
            Pipeline pipeline = jedis.pipelined();
            for (String id : ids.subList(from, Math.min(ids.size(), from + CHUNK))) {
                pipeline.incr("ref_count:" + id);
                pipeline.decr("ref_count:" + id);
                pipeline.hset("session:" + id, "last_disconnect", "1763238000000");
            }
            pipeline.sync();
        }
    }

    /** Sessions with a last disconnect, so that a part of them is due. */
    void fill(List<String> ids, long lastDisconnect) {
        for (int from = 0; from < ids.size(); from += 1_000) {
            Pipeline pipeline = jedis.pipelined();
            for (String id : ids.subList(from, Math.min(ids.size(), from + 1_000))) {
                pipeline.set("ref_count:" + id, "0");
                pipeline.hset("session:" + id, "last_disconnect", Long.toString(lastDisconnect));
            }
            pipeline.sync();
        }
    }

    /** The cleanup timer's search: all keys, then the count and the time of each. */
    int findDue(long before) {
        int due = 0;
        String cursor = ScanParams.SCAN_POINTER_START;
        ScanParams page = new ScanParams().match("session:*").count(100);
        do {
            ScanResult<String> keys = jedis.scan(cursor, page);
            Pipeline pipeline = jedis.pipelined();
            List<Response<String>> times = keys.getResult().stream()
                    .map(key -> pipeline.hget(key, "last_disconnect"))
                    .toList();
            List<Response<String>> counts = keys.getResult().stream()
                    .map(key -> pipeline.get("ref_count:" + key.substring("session:".length())))
                    .toList();
            pipeline.sync();
            for (int i = 0; i < times.size(); i++) {
                if (Long.parseLong(counts.get(i).get()) <= 0
                        && Long.parseLong(times.get(i).get()) < before) {
                    due++;
                }
            }
            cursor = keys.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        return due;
    }
}
