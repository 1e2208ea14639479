package io.holdfast.testkit;

import static org.awaitility.Awaitility.await;

import io.holdfast.embedded.ScratchFolder;
import io.holdfast.embedded.ServerLaunch;
import io.holdfast.embedded.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.resps.Slowlog;

/**
 * A real Redis server to be mistreated. It has one port for life: after {@link #kill} or {@link #restart} it comes back
 * where its clients look for it.
 *
 * <pre>
 *   running -- kill() ----------> dead      -- restart() or restartEmpty() --> running
 *   running -- stall() ---------> stalled   -- resume() --> running
 *   running -- restart() -------> running, new run id, all its data (saved first)
 *   running -- restartEmpty() --> running, new run id, no data
 * </pre>
 *
 * <p>What a killed server still has when it is restarted: nothing, unless it was made {@linkplain Setup#durable
 * durable}; then every write that was acknowledged.
 */
public final class RedisServer implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final Setup setup;
    private final Path folder;
    private ServerProcess process;
    private boolean pristine = true;

    private RedisServer(Setup setup) {
        this.setup = setup;
        this.folder = scratchFolder();
        this.process = setup.launch(folder).start();
    }

    /** A server with nothing but defaults: in memory, no password, {@code noeviction}. */
    public static RedisServer start() {
        return setup().start();
    }

    public static Setup setup() {
        return new Setup();
    }

    /** What a server is started with, in all its lives. */
    public static final class Setup {

        private final List<String> options = new ArrayList<>();
        private @Nullable String password;
        private @Nullable Certificate certificate;
        private boolean cluster;

        private Setup() {}

        /** An option of redis.conf with its arguments. */
        public Setup option(String name, String... arguments) {
            options.add("--" + name);
            options.addAll(List.of(arguments));
            return this;
        }

        /** The bound on memory, as in redis.conf: {@code 10mb}. */
        public Setup maxmemory(String bytes) {
            return option("maxmemory", bytes);
        }

        /** Keeps every acknowledged write when the server is killed (not when the machine is). */
        public Setup durable() {
            // Without fsync the write still goes to the kernel before the reply; "everysec" may put it off.
            return option("appendonly", "yes").option("appendfsync", "no");
        }

        /** The password of the default user. */
        public Setup password(String password) {
            this.password = password;
            return option("requirepass", password);
        }

        /** A user by ACL rules: {@code user("reader", "secret", "~*", "+@read")}. */
        public Setup user(String name, String password, String... rules) {
            List<String> all = new ArrayList<>(List.of(name, "on", ">" + password));
            all.addAll(List.of(rules));
            return option("user", all.toArray(String[]::new));
        }

        /** Also listens with TLS, at {@link RedisServer#tlsUri()}, with a certificate for 127.0.0.1. */
        public Setup tls() {
            certificate = Certificate.forLoopback();
            return option("tls-cert-file", certificate.certificateFile().toString())
                    .option("tls-key-file", certificate.keyFile().toString())
                    .option("tls-ca-cert-file", certificate.certificateFile().toString())
                    .option("tls-auth-clients", "no");
        }

        Setup cluster() {
            cluster = true;
            return option("cluster-enabled", "yes");
        }

        public RedisServer start() {
            return new RedisServer(this);
        }

        private ServerLaunch launch(Path folder) {
            ServerLaunch launch = ServerLaunch.server().scratchFolder(folder).options(options.toArray(String[]::new));
            if (certificate != null) {
                launch.optionsByPort(port -> List.of("--tls-port", String.valueOf(tlsPort(port))));
            }
            if (cluster) {
                launch.optionsByPort(port -> List.of("--cluster-port", String.valueOf(port + 10_000)));
            }
            return launch;
        }
    }

    /** Where its files are. */
    public Path folder() {
        return folder;
    }

    /** The port on 127.0.0.1, the same for life. */
    public int port() {
        return process.port();
    }

    public HostAndPort address() {
        return new HostAndPort("127.0.0.1", port());
    }

    /** Where it listens, with the password if it has one. */
    public URI uri() {
        String user = setup.password == null ? "" : ":" + setup.password + "@";
        return URI.create("redis://" + user + "127.0.0.1:" + port());
    }

    /** Where it listens with TLS; the client must {@linkplain #certificate trust} it. */
    public URI tlsUri() {
        certificate();
        String user = setup.password == null ? "" : ":" + setup.password + "@";
        return URI.create("rediss://" + user + "127.0.0.1:" + tlsPort(port()));
    }

    /** What a client must trust to use {@link #tlsUri()}. */
    public Certificate certificate() {
        if (setup.certificate == null) {
            throw new IllegalStateException("the server was not set up with tls()");
        }
        return setup.certificate;
    }

    /** A new connection, which the caller closes. */
    public Jedis client() {
        return new Jedis(address(), clientConfig());
    }

    /** Password and patience for any other kind of Jedis client. */
    public JedisClientConfig clientConfig() {
        var config =
                DefaultJedisClientConfig.builder().serverDefaultProtocol().timeoutMillis((int) PATIENCE.toMillis());
        return (setup.password == null ? config : config.password(setup.password)).build();
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** The number of this life of the server; every restart gives a new one. */
    public String runId() {
        return field(info("server"), "run_id");
    }

    /** The fields of one section of INFO. */
    public Map<String, String> info(String section) {
        try (Jedis client = client()) {
            return fields(client.info(section));
        }
    }

    /** The processor time that the server has spent in this life, in user and system mode, without its children. */
    public long cpuMicros() {
        Map<String, String> cpu = info("cpu");
        double seconds =
                Double.parseDouble(field(cpu, "used_cpu_user")) + Double.parseDouble(field(cpu, "used_cpu_sys"));
        return Math.round(seconds * 1e6);
    }

    /** The slow log, newest first. Set {@code slowlog-log-slower-than} to have more in it. */
    public List<Slowlog> slowlog() {
        try (Jedis client = client()) {
            return client.slowlogGet(-1);
        }
    }

    /** Sets an option of the running server, until its restart. */
    public void config(String name, String value) {
        pristine = false;
        try (Jedis client = client()) {
            client.configSet(name, value);
        }
    }

    /** Bounds the memory of the running server, until its restart. */
    public void maxmemory(String bytes) {
        config("maxmemory", bytes);
    }

    /** Removes all data. */
    public void flush() {
        try (Jedis client = client()) {
            client.flushAll();
        }
    }

    /** What the server logged in this life. */
    public String log() {
        return process.log();
    }

    /** Ends it with SIGKILL. Its port refuses connections until it is restarted. */
    public void kill() {
        pristine = false;
        process.kill();
    }

    /** Stops it with SIGSTOP: connections stay open and new ones are accepted by the kernel, but nothing answers. */
    public void stall() {
        pristine = false;
        Signals.stall(pid());
    }

    /** Lets it go on. */
    public void resume() {
        Signals.resume(pid());
    }

    /** A new life with the data of the old one: of a dead server what it had written to disk. */
    public void restart() {
        if (isAlive()) {
            try (Jedis client = client()) {
                client.save();
            }
        }
        restartWithWhatIsOnDisk();
    }

    /** A new life without data. */
    public void restartEmpty() {
        process.kill();
        ScratchFolder.remove(folder);
        try {
            Files.createDirectory(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        restartWithWhatIsOnDisk();
    }

    /** Whether nobody killed, stalled, restarted or reconfigured it since {@link #makePristine}. */
    boolean isPristine() {
        return pristine && isAlive();
    }

    /** As good as new: a new life if it was mistreated, otherwise only without data. */
    void makePristine() {
        if (isPristine()) {
            flush();
        } else {
            restartEmpty();
            pristine = true;
        }
    }

    @Override
    public void close() {
        process.kill();
        ScratchFolder.remove(folder);
    }

    /** Waits for servers to agree on something; one that drops a connection in the meantime is asked again. */
    static ConditionFactory patiently(String until) {
        return await(until)
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10))
                .ignoreException(JedisConnectionException.class);
    }

    static Map<String, String> fields(String info) {
        Map<String, String> fields = new TreeMap<>();
        info.lines().filter(line -> !line.startsWith("#")).forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1));
            }
        });
        return fields;
    }

    static String field(Map<String, String> fields, String name) {
        String value = fields.get(name);
        if (value == null) {
            throw new IllegalStateException("the server does not tell " + name + ", only " + fields.keySet());
        }
        return value;
    }

    static Path scratchFolder() {
        try {
            return Files.createTempDirectory("holdfast-redis-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void restartWithWhatIsOnDisk() {
        pristine = false;
        process.kill();
        process = setup.launch(folder).port(port()).start();
    }

    private static int tlsPort(int port) {
        return port + 5_000;
    }
}
