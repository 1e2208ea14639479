package io.holdfast.bench.aggregates;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/**
 * What the original does in Redis, as its text has it, on one master: per update a lock, the node list, the cached payload, and
 * the lock's end; per close a lock, the node list, the payload, a row of its own, and the end of the key.
 */
final class OriginalReferences {

    private final Jedis jedis;

    OriginalReferences(Jedis jedis) {
        this.jedis = jedis;
    }

    void update(String key, long views) {
        lock(key);
        jedis.sadd(key + ".nodes", "node-1");
        jedis.hincrBy(key + ".payload", "node-1", views);
        jedis.del(key + ".lock");
    }

    void close(String key, Connection database) throws SQLException {
        lock(key);
        jedis.srem(key + ".nodes", "node-1");
        if (jedis.scard(key + ".nodes") == 0) {
            String own = jedis.hget(key + ".payload", "node-1");
            try (PreparedStatement insert =
                    database.prepareStatement("insert into original (name, views) values (?, ?)")) {
                insert.setString(1, key);
                insert.setLong(2, Long.parseLong(own));
                insert.executeUpdate();
            }
            jedis.del(key + ".nodes", key + ".payload");
        }
        jedis.del(key + ".lock");
    }

    private void lock(String key) {
        if (jedis.set(key + ".lock", "node-1", SetParams.setParams().nx().px(10_000)) == null) {
            throw new IllegalStateException("nobody else is here to have the lock");
        }
    }

    static void makeTable(DataSource database) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("create table original (name varchar(100) primary key, views bigint)");
        }
    }
}
