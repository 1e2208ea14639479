package io.holdfast.redis;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.ReclaimListener;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.graph.ValueCache;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.session.SessionsBuilder;
import io.holdfast.spi.EmbeddedStore;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.UnifiedJedis;

/**
 * The client: one per process and Redis is enough, it is safe for any number of threads.
 *
 * <pre>{@code
 * try (var holdfast = Holdfast.connect("redis://localhost")) { … }
 * try (var holdfast = Holdfast.embedded()) { … }                       // a real server of its own, for trying out
 * try (var holdfast = Holdfast.builder().uri(…).instance("web-1").open()) { … }
 * }</pre>
 *
 * <p><b>Lifecycle.</b> A client owns the connections it opened, the embedded server it started, and one {@link
 * DutyRunner} for all background work. {@link #close()} closes the sessions and aggregates that were started with it (aggregates
 * publish what waits), then stops the duties, and the connections last. What it could not close is logged, and lapses. Holds,
 * writers and snapshots of graphs are not closed: they lapse.
 */
public final class Holdfast implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(Holdfast.class.getName());
    private static final Duration LONGEST_CLOSE = Duration.ofSeconds(30);

    private final Client client;
    private final EmbeddedStore.@Nullable Running store;
    private final @Nullable ValueCache cache;
    private final Map<String, ValueGraph> graphs = new ConcurrentHashMap<>();

    private Holdfast(Client client, EmbeddedStore.@Nullable Running store, @Nullable ValueCache cache) {
        this.client = client;
        this.store = store;
        this.cache = cache;
    }

    /** Connects to a Redis, Cluster or Sentinel URI; see {@link io.holdfast.redis.link.RedisUri}. */
    public static Holdfast connect(String uri) {
        return builder().uri(uri).open();
    }

    /** Starts a real Redis server for this process alone; its data is gone when the client is closed. */
    public static Holdfast embedded() {
        return builder().embedded(null).open();
    }

    /** Starts a real Redis server for this process alone, with its data kept in the given folder. */
    public static Holdfast embedded(Path dataFolder) {
        return builder().embedded(dataFolder).open();
    }

    /** Uses the application's own Jedis client, and leaves it open. */
    public static Holdfast using(UnifiedJedis client) {
        return builder().client(client).open();
    }

    /** Settings come from the builder, then system properties, then the environment. */
    public static Builder builder() {
        return new Builder(Settings.ofProcess());
    }

    /** A client with settings of its own: what they do not have is the default. */
    public static Builder builder(Settings settings) {
        return new Builder(settings);
    }

    /** Sessions that several instances serve, closed once when none does any more. */
    public SessionsBuilder sessions(String name) {
        return new SessionsBuilder(client, name);
    }

    /** Records that several instances add to, merged and written once when nobody adds any more. */
    public <T> AggregatesBuilder<T> aggregates(String name, Class<T> type, BinaryOperator<T> merge) {
        return new AggregatesBuilder<>(client, name, type, merge);
    }

    /** What this process reclaims from now on is told to the listener. */
    public void onReclaimed(ReclaimListener listener) {
        client.notices().add(listener);
    }

    /**
     * The named value graph; made if there is none. The same object for every call with the same name, until this process
     * destroys the graph.
     */
    public ValueGraph graph(String name) {
        return Objects.requireNonNull(graphs.compute(
                name,
                (it, known) -> known == null || known.isDestroyed() ? ValueGraph.open(client, it, cache) : known));
    }

    /** Who this process is to the others: its name and its present life. */
    public HolderId self() {
        return client.self();
    }

    /** The runner of this client's background work, for duties that go beside its own. */
    public DutyRunner duties() {
        return client.duties();
    }

    /** The way to Redis, for tools that look at the server itself. */
    public RedisLink link() {
        return client.link();
    }

    /** Where Redis is, without the password. */
    public String where() {
        return client.link().where();
    }

    @Override
    public void close() {
        closeOpened();
        client.duties().close();
        client.link().close();
        if (store != null) {
            store.close();
        }
    }

    /** All at the same time: a set whose server does not answer must not hold up the others. */
    private void closeOpened() {
        List<Thread> closing = new ArrayList<>();
        for (AutoCloseable one : client.opened().all()) {
            closing.add(Thread.ofVirtual().start(() -> {
                try {
                    one.close();
                } catch (Exception e) {
                    LOG.log(Level.WARNING, () -> one + " could not be closed; its leases lapse: " + e);
                }
            }));
        }
        for (Thread thread : closing) {
            try {
                thread.join(LONGEST_CLOSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** Collects what a client needs; {@link #open()} refuses nonsense by the name of the setting. */
    public static final class Builder {

        private final Settings settings;
        private @Nullable UnifiedJedis jedis;
        private boolean embedded;
        private @Nullable Path dataFolder;
        private @Nullable ValueCache cache;
        private boolean passive;

        private Builder(Settings settings) {
            this.settings = settings;
        }

        public Builder uri(String uri) {
            return set(LinkSettings.URI, uri);
        }

        public Builder client(UnifiedJedis own) {
            this.jedis = own;
            return this;
        }

        /** Starts a server of its own; {@code null}: without a data folder. */
        public Builder embedded(@Nullable Path folder) {
            this.embedded = true;
            this.dataFolder = folder;
            return this;
        }

        /** Does no background work: for tools that only look. What it holds lapses. */
        public Builder passive() {
            this.passive = true;
            return this;
        }

        /** What snapshots of all graphs read through; it stays the caller's. */
        public Builder valueCache(ValueCache values) {
            this.cache = values;
            return this;
        }

        public Builder instance(String name) {
            return set(HoldfastSettings.INSTANCE, name);
        }

        /** Sets any setting in code; it beats properties and environment. */
        public <T> Builder set(Setting<T> setting, T value) {
            settings.set(setting, value);
            return this;
        }

        public Holdfast open() {
            HoldfastSettings.PREFIXES.forEach(prefix -> settings.refuseUnknown(prefix, HoldfastSettings.ALL));
            HolderId self = HolderId.newIncarnation(instanceName());
            int threads = settings.get(HoldfastSettings.DUTY_THREADS);
            EmbeddedStore.Running store = embedded ? startStore() : null;
            try {
                if (store != null) {
                    settings.set(LinkSettings.URI, store.uri().toString());
                }
                RedisLink link = jedis == null ? RedisLink.connect(settings) : RedisLink.using(jedis);
                DutyRunner duties = passive ? DutyRunner.manual(Time.system()) : DutyRunner.start(threads);
                return new Holdfast(
                        new Client(link, duties, new Notices(), self, settings, Time.system()), store, cache);
            } catch (RuntimeException e) {
                if (store != null) {
                    store.close();
                }
                throw e;
            }
        }

        private String instanceName() {
            String name = settings.get(HoldfastSettings.INSTANCE);
            if (!name.isEmpty()) {
                return name;
            }
            String host;
            try {
                host = InetAddress.getLocalHost().getHostName().replaceAll("[^A-Za-z0-9._-]", "-");
            } catch (UnknownHostException e) {
                host = "host";
            }
            return host.substring(0, Math.min(host.length(), 50))
                    + '-'
                    + ProcessHandle.current().pid();
        }

        private EmbeddedStore.Running startStore() {
            EmbeddedStore provider = ServiceLoader.load(EmbeddedStore.class)
                    .findFirst()
                    .orElseThrow(() -> HoldfastException.misuse(
                            "there is no embedded server on the class path",
                            "add the artifact io.holdfast:holdfast-embedded, or connect to a server"));
            return provider.start(dataFolder);
        }
    }
}
