package io.holdfast.redis.link;

import io.holdfast.Settings;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.builders.StandaloneClientBuilder;
import redis.clients.jedis.providers.PooledConnectionProvider;

/** Makes the client of Jedis that a URI and the settings ask for. */
final class Connector {

    private final RedisUri uri;
    private final Settings settings;
    private final int timeoutMillis;
    private final int connectMillis;

    private Connector(RedisUri uri, Settings settings) {
        this.uri = uri;
        this.settings = settings;
        this.timeoutMillis = Math.toIntExact(settings.get(LinkSettings.TIMEOUT).toMillis());
        this.connectMillis =
                Math.toIntExact(settings.get(LinkSettings.CONNECT_TIMEOUT).toMillis());
    }

    static UnifiedJedis connect(RedisUri uri, Settings settings) {
        return new Connector(uri, settings).connect();
    }

    private UnifiedJedis connect() {
        Set<HostAndPort> hosts = uri.endpoints().stream()
                .map(endpoint -> new HostAndPort(endpoint.host(), endpoint.port()))
                .collect(Collectors.toSet());
        return switch (uri.mode()) {
            case STANDALONE -> standalone(hosts.iterator().next());
            case CLUSTER ->
                RedisClusterClient.builder()
                        .nodes(hosts)
                        .clientConfig(config())
                        .poolConfig(pool())
                        .maxAttempts(5)
                        .maxTotalRetriesDuration(settings.get(LinkSettings.TIMEOUT))
                        .build();
            case SENTINEL ->
                RedisSentinelClient.builder()
                        .masterName(String.valueOf(uri.primaryName()))
                        .sentinels(hosts)
                        .sentinelClientConfig(DefaultJedisClientConfig.builder()
                                .connectionTimeoutMillis(connectMillis)
                                .socketTimeoutMillis(timeoutMillis)
                                .build())
                        .clientConfig(config())
                        .poolConfig(pool())
                        .build();
        };
    }

    /** The other two make their own sockets, and so does TLS, which cuts what it sends into records anyway. */
    private UnifiedJedis standalone(HostAndPort server) {
        StandaloneClientBuilder<RedisClient> builder =
                RedisClient.builder().hostAndPort(server).clientConfig(config()).poolConfig(pool());
        if (!uri.tls()) {
            WholeWrites sockets = new WholeWrites(server, connectMillis, timeoutMillis);
            builder.connectionProvider(new PooledConnectionProvider(new ConnectionFactory(sockets, config()), pool()));
        }
        return builder.build();
    }

    private JedisClientConfig config() {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .resp2()
                .clientName("holdfast")
                .connectionTimeoutMillis(connectMillis)
                .socketTimeoutMillis(timeoutMillis)
                .user(uri.user())
                .password(uri.password())
                .database(uri.database());
        if (uri.tls()) {
            config.sslOptions(SslOptions.defaults());
        }
        return config.build();
    }

    private ConnectionPoolConfig pool() {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        int connections = settings.get(LinkSettings.CONNECTIONS);
        pool.setMaxTotal(connections);
        pool.setMaxIdle(connections);
        pool.setMaxWait(settings.get(LinkSettings.TIMEOUT));
        pool.setTestWhileIdle(false);
        pool.setTimeBetweenEvictionRuns(Duration.ofMillis(-1)); // no thread of its own
        return pool;
    }
}
