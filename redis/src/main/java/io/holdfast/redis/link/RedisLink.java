package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.ScanIteration;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.exceptions.JedisRedirectionException;
import redis.clients.jedis.util.Pool;

/**
 * The one way to Redis. Everything that Holdfast asks of a server goes through here.
 *
 * <p><b>Bounded waiting.</b> A call waits at most {@link LinkSettings#TIMEOUT} for a free connection and as long again
 * for its reply; then it fails with RETRY. A killed, stalled or cut-off server never hangs a caller, and a call that
 * failed so may or may not have happened: that is why every script can be repeated.
 *
 * <p><b>Recovery.</b> A server that comes back is used again by the next call. A flushed script cache is noticed
 * (NOSCRIPT) and the script is sent anew. A cluster that moves slots is followed. A fail-over by Sentinel is followed.
 *
 * <p><b>Ownership.</b> {@link #connect} opens a client and {@link #close()} closes it. {@link #using} borrows the
 * caller's client, with its time-outs and its pool, and leaves it open.
 *
 * <p>Thread-safe, and made for blocking calls on virtual threads: callers that wait at the same time share connections
 * and round trips, see {@link Gathering}.
 */
public final class RedisLink implements AutoCloseable {

    /**
     * One call of a script, and what is written beside it.
     *
     * <p>What passes through a script is copied into Lua and out again, which takes the server longer than everything
     * else that is done with it. So a call may have fields of a hash beside it; then it is a transaction: the script, a
     * plain HSET of its first key, and the script again with its first two keys and no arguments. The HSET happens
     * whatever the script answers: what becomes of it is for the two runs to decide. Both run or none does, as they are
     * one script.
     *
     * @param beside field, value, field, value …; empty: a plain call
     */
    public record Call(Script script, List<byte[]> keys, List<byte[]> arguments, List<byte[]> beside) {

        public Call {
            script.check(keys.size(), arguments.size());
        }

        public Call(Script script, List<byte[]> keys, List<byte[]> arguments) {
            this(script, keys, arguments, List.of());
        }

        boolean isTransaction() {
            return !beside.isEmpty();
        }
    }

    private static final int KEYS_A_STEP = 1_000;
    /** Round trips of single calls at a time; more callers than that share them. */
    private static final int TURNS = 4;
    /** How long a caller waits for its turn on a borrowed client, whose time-outs are its owner's business. */
    private static final Duration BORROWED_PATIENCE = Duration.ofSeconds(10);

    private final UnifiedJedis client;
    private final boolean owned;
    private final String where;

    private final Gathering gathering;

    private final @Nullable Replicas replicas;
    private final Duration timeout;
    private final @Nullable ClusterRoutes routes;

    /** Whether a transaction was seen to work. */
    private volatile boolean transacts;

    private RedisLink(
            UnifiedJedis client,
            boolean owned,
            String where,
            int turns,
            Duration patience,
            @Nullable Replicas replicas) {
        this.client = client;
        this.owned = owned;
        this.where = where;
        this.timeout = patience;
        this.gathering = new Gathering(turns, patience, this::callAll);
        this.replicas = replicas;
        this.routes = client instanceof RedisClusterClient cluster ? new ClusterRoutes(cluster) : null;
    }

    /** How long a call waits for its reply at most. */
    public Duration timeout() {
        return timeout;
    }

    /** Connects to {@link LinkSettings#URI} and checks every server behind it. */
    public static RedisLink connect(Settings settings) {
        RedisLink link = inspect(settings);
        try {
            link.checkServers();
            return link;
        } catch (RuntimeException e) {
            link.close();
            throw e;
        }
    }

    /** The same without refusing any server, for tools that say what is wrong with one. */
    public static RedisLink inspect(Settings settings) {
        RedisUri uri = RedisUri.parse(settings.get(LinkSettings.URI));
        try {
            int turns = Math.min(TURNS, settings.get(LinkSettings.CONNECTIONS));
            Replicas replicas = Replicas.of(settings);
            Duration patience = settings.get(LinkSettings.TIMEOUT);
            return new RedisLink(Connector.connect(uri, settings), true, uri.toString(), turns, patience, replicas);
        } catch (JedisException e) {
            throw RedisFailures.of("connecting to " + uri, e);
        }
    }

    /** Uses the caller's own client, and never closes it. */
    public static RedisLink using(UnifiedJedis client) {
        RedisLink link = new RedisLink(client, false, "the given client", TURNS, BORROWED_PATIENCE, null);
        link.checkServers();
        return link;
    }

    /** Calls a script. The first key decides which server of a cluster it goes to. */
    public Reply call(Script script, List<byte[]> keys, List<byte[]> arguments) {
        return call(new Call(script, keys, arguments));
    }

    public Reply call(Call call) {
        // Calls to several servers do not share a round trip.
        return routes != null ? callAlone(call) : gathering.call(call).get();
    }

    private Reply callAlone(Call call) {
        return tell(call.script().name(), () -> {
            try {
                return send(call);
            } catch (JedisNoScriptException e) {
                load(call);
                return send(call);
            } catch (JedisConnectionException | JedisRedirectionException e) {
                if (routes == null || !isPiped(call)) {
                    throw e;
                }
                // A pipeline goes to the server that had the slot, and does not look for another: a plain command does.
                if (!call.isTransaction()) {
                    return sendThenWait(call);
                }
                client.executeCommand(new CommandArguments(Protocol.Command.HLEN)
                        .key(call.keys().getFirst()));
                transacts = false;
                return send(call);
            }
        });
    }

    private boolean isPiped(Call call) {
        return replicas != null || call.isTransaction();
    }

    private Reply send(Call call) {
        if (!isPiped(call)) {
            return new Reply(client.executeCommand(evalsha(call)));
        }
        tryTransaction(call);
        Supplier<Reply> reply;
        Replicas.Wait wait;
        try (AbstractPipeline pipeline = pipelineTo(call)) {
            reply = queue(call, pipeline);
            wait = waitIn(pipeline, call);
            pipeline.sync();
        }
        return replicated(call, List.of(new Outcome(reply.get(), null)), wait)
                .getFirst()
                .get();
    }

    /** The same by two round trips, the first of which follows a slot that has moved. */
    private Reply sendThenWait(Call call) {
        Reply reply = new Reply(client.executeCommand(evalsha(call)));
        Replicas.Wait wait;
        try (AbstractPipeline pipeline = pipelineTo(call)) {
            wait = waitIn(pipeline, call);
            pipeline.sync();
        }
        return replicated(call, List.of(new Outcome(reply, null)), wait)
                .getFirst()
                .get();
    }

    /** Lets a pipeline end with the wait for replicas, if there is one. */
    private Replicas.@Nullable Wait waitIn(AbstractPipeline pipeline, Call call) {
        return replicas == null ? null : replicas.waitIn(pipeline, call.keys().getFirst());
    }

    /** What calls come to that were done before the same wait: not replicated, if too few replicas have them. */
    private List<Outcome> replicated(Call first, List<Outcome> done, Replicas.@Nullable Wait wait) {
        Replicas wanted = replicas;
        if (wanted == null || wait == null) {
            return done;
        }
        Function<Reply, Outcome> outcome;
        try {
            long acknowledged = acknowledged(first, wait);
            outcome = reply -> wanted.outcome(reply, acknowledged);
        } catch (JedisConnectionException e) {
            outcome = reply -> wanted.outcome(reply, 0);
        } catch (JedisException | IllegalStateException e) {
            HoldfastException failure = failure("waiting for replicas", e);
            outcome = reply -> new Outcome(null, failure);
        }
        List<Outcome> all = new ArrayList<>(done.size());
        for (Outcome one : done) {
            Reply reply = one.reply();
            all.add(reply == null ? one : outcome.apply(reply));
        }
        return all;
    }

    private long acknowledged(Call call, Replicas.Wait wait) {
        try {
            return wait.acknowledged();
        } catch (JedisNoScriptException e) {
            client.scriptLoad(Replicas.FENCE.source(), call.keys().getFirst());
        }
        Replicas.Wait again;
        try (AbstractPipeline pipeline = pipelineTo(call)) {
            again = Objects.requireNonNull(waitIn(pipeline, call));
            pipeline.sync();
        }
        return again.acknowledged();
    }

    /**
     * Before the first transaction, also after a connection broke: an empty one, and the script. Where MULTI is refused (a user
     * who may not, a proxy that knows none), what follows it would be done all the same, each for itself; and a server that was
     * started again does not know the script, but would do what stands beside it.
     */
    private void tryTransaction(Call call) {
        if (transacts || !call.isTransaction()) {
            return;
        }
        try (AbstractPipeline pipeline = pipelineTo(call)) {
            Response<Object> begun = pipeline.sendCommand(new CommandArguments(Protocol.Command.MULTI));
            Response<Object> done = pipeline.sendCommand(new CommandArguments(Protocol.Command.EXEC));
            pipeline.sync();
            begun.get();
            done.get();
        }
        load(call);
        transacts = true;
    }

    /** The same before several calls: once for all of them. Answers why it failed, if it did. */
    private Optional<HoldfastException> tryTransaction(List<Call> calls) {
        try {
            calls.stream().filter(Call::isTransaction).findFirst().ifPresent(this::tryTransaction);
            return Optional.empty();
        } catch (JedisException | IllegalStateException e) {
            return Optional.of(failure("a batch of " + calls.size() + " calls", e));
        }
    }

    /** A pipeline to the server that has the keys of the call. */
    private AbstractPipeline pipelineTo(Call call) {
        return pipelineTo(call.keys().getFirst());
    }

    private AbstractPipeline pipelineTo(byte[] key) {
        return routes != null ? routes.to(key) : client.pipelined();
    }

    /** Puts a call into a pipeline; the answer can be asked for when the pipeline is through. */
    private static Supplier<Reply> queue(Call call, AbstractPipeline pipeline) {
        if (!call.isTransaction()) {
            Response<Object> reply = pipeline.sendCommand(evalsha(call));
            return () -> new Reply(reply.get());
        }
        // All of it is there before anything is sent: a connection must not go back to the pool within a transaction.
        List<CommandArguments> commands = List.of(
                new CommandArguments(Protocol.Command.MULTI),
                evalsha(call),
                hset(call),
                evalsha(call.script(), call.keys().subList(0, 2), List.of()));
        List<Response<Object>> queued = new ArrayList<>();
        commands.forEach(command -> queued.add(pipeline.sendCommand(command)));
        Response<Object> done = pipeline.sendCommand(new CommandArguments(Protocol.Command.EXEC));
        return () -> {
            queued.forEach(Response::get); // what was not even queued says why
            List<?> replies = (List<?>) done.get();
            for (Object reply : replies) {
                if (reply instanceof JedisException failure) {
                    throw failure;
                }
            }
            return new Reply(replies.getFirst());
        };
    }

    private static CommandArguments hset(Call call) {
        CommandArguments all =
                new CommandArguments(Protocol.Command.HSET).key(call.keys().getFirst());
        call.beside().forEach(all::add);
        return all;
    }

    /**
     * Sends all calls at once and then reads all replies. The calls must not depend on one another: in a cluster they go
     * to several servers, and those that met a flushed script cache are sent again.
     *
     * @return for each call, in order, its reply or the exception that it would have thrown
     */
    public List<Outcome> callAll(List<Call> calls) {
        if (calls.size() == 1) {
            return List.of(Outcome.of(() -> callAlone(calls.getFirst())));
        }
        Optional<HoldfastException> refused = tryTransaction(calls);
        if (refused.isPresent()) {
            boolean broken = refused.get().getCause() instanceof JedisConnectionException;
            return calls.stream()
                    .map(call -> broken || call.isTransaction()
                            ? new Outcome(null, refused.get())
                            : Outcome.of(() -> callAlone(call)))
                    .toList();
        }
        List<Outcome> outcomes = routes == null ? pipeline(calls) : pipelines(routes, calls);
        for (int i = 0; i < outcomes.size(); i++) {
            Call call = calls.get(i);
            HoldfastException failure = outcomes.get(i).failure();
            // A pipeline neither sends scripts nor follows a slot that has moved; a call of its own does both.
            if (failure != null
                    && (failure.getCause() instanceof JedisNoScriptException
                            || failure.getCause() instanceof JedisRedirectionException)) {
                if (routes != null) {
                    routes.forget(call);
                }
                outcomes.set(i, Outcome.of(() -> callAlone(call)));
            }
        }
        return outcomes;
    }

    /** Whether a script refused because an earlier one was torn; see {@code tally.lua}. */
    public static boolean isTorn(HoldfastException failure) {
        return RedisFailures.isTorn(failure);
    }

    /** A reply, or why there is none; exactly one of them. */
    public record Outcome(@Nullable Reply reply, @Nullable HoldfastException failure) {

        static Outcome of(Supplier<Reply> call) {
            try {
                return new Outcome(call.get(), null);
            } catch (HoldfastException e) {
                return new Outcome(null, e);
            }
        }

        /** The outcome of a call that was done, and that too few replicas have. */
        public static Outcome notReplicated(Reply reply, String message) {
            return new Outcome(null, new HoldfastException(Category.RETRY, message, new Replicas.NotReplicated(reply)));
        }

        /** The reply, also of a call that too few replicas have: for callers that must know what was done, wherever it is. */
        public @Nullable Reply ofWhatWasDone() {
            return failure != null && failure.getCause() instanceof Replicas.NotReplicated done ? done.reply : reply;
        }

        public Reply get() {
            if (reply == null) {
                throw failure == null ? new IllegalStateException("an outcome without reply or failure") : failure;
            }
            return reply;
        }
    }

    /** One pipeline per server, all at the same time: a server that does not answer keeps nobody from the others. */
    private List<Outcome> pipelines(ClusterRoutes cluster, List<Call> calls) {
        Outcome[] outcomes = new Outcome[calls.size()];
        Arrays.fill(outcomes, new Outcome(null, new HoldfastException(Category.RETRY, "a batch was not sent")));
        cluster.forEachServer(calls, places -> {
            List<Outcome> some = pipeline(places.stream().map(calls::get).toList());
            for (int i = 0; i < places.size(); i++) {
                outcomes[places.get(i)] = some.get(i);
            }
        });
        return new ArrayList<>(Arrays.asList(outcomes));
    }

    /** Calls that one server answers. */
    private List<Outcome> pipeline(List<Call> calls) {
        List<Supplier<Reply>> replies = new ArrayList<>(calls.size());
        Replicas.Wait wait;
        try (AbstractPipeline pipeline = pipelineTo(calls.getFirst())) {
            for (Call call : calls) {
                replies.add(queue(call, pipeline));
            }
            wait = waitIn(pipeline, calls.getFirst());
            pipeline.sync();
        } catch (JedisException | IllegalStateException e) {
            HoldfastException failure = failure("a batch of " + calls.size() + " calls", e);
            if (routes != null) {
                routes.doubt(calls);
            }
            return calls.stream()
                    .map(call -> new Outcome(null, failure))
                    .collect(Collectors.toCollection(ArrayList::new));
        }
        List<Outcome> outcomes = new ArrayList<>(calls.size());
        for (Supplier<Reply> reply : replies) {
            outcomes.add(Outcome.of(() -> tell("a call of a batch", reply::get)));
        }
        return replicated(calls.getFirst(), outcomes, wait);
    }

    /** Sends a plain command about one key. */
    public Reply command(ProtocolCommand command, byte[] key, byte[]... arguments) {
        return tell(command.toString(), () -> new Reply(client.executeCommand(plain(command, key, arguments))));
    }

    /** Sends a plain command about each of several keys of one shard, all at once; answers in their order. */
    public List<Reply> commands(ProtocolCommand command, List<byte[]> keys, List<byte[][]> arguments) {
        if (keys.size() > 1) {
            try (AbstractPipeline pipeline = pipelineTo(keys.getFirst())) {
                List<Response<Object>> replies = new ArrayList<>(keys.size());
                for (int i = 0; i < keys.size(); i++) {
                    replies.add(pipeline.sendCommand(plain(command, keys.get(i), arguments.get(i))));
                }
                pipeline.sync();
                return replies.stream().map(reply -> new Reply(reply.get())).toList();
            } catch (JedisException | IllegalStateException e) {
                // A pipeline does not follow a slot that has moved; a command of its own does, or says what is wrong.
                failure(command.toString(), e); // what a failure means for later calls, it means here too
            }
        }
        return IntStream.range(0, keys.size())
                .mapToObj(i -> command(command, keys.get(i), arguments.get(i)))
                .toList();
    }

    private static CommandArguments plain(ProtocolCommand command, byte[] key, byte[]... arguments) {
        CommandArguments all = new CommandArguments(command).key(key);
        for (byte[] argument : arguments) {
            all.add(argument);
        }
        return all;
    }

    /**
     * The shards that have the given part, of all kinds and names: found by walking the keys of every server in short calls,
     * so for tools only.
     */
    public List<Keyspace> find(String part) {
        return tell("walking the keys of " + where, () -> {
            TreeSet<String> keys = new TreeSet<>(); // a walk may meet a key twice
            ScanIteration walk = client.scanIteration(KEYS_A_STEP, "hf:{*}:" + part);
            while (!walk.isIterationCompleted()) {
                keys.addAll(walk.nextBatch().getResult());
            }
            return keys.stream().flatMap(key -> Keyspace.of(key).stream()).toList();
        });
    }

    /** What every server behind the link says of itself; one, unless it is a cluster. */
    public List<ServerFacts> servers() {
        return tell("reading INFO of " + where, () -> {
            if (client instanceof RedisClusterClient cluster) {
                List<ServerFacts> facts = new ArrayList<>();
                for (ConnectionPool pool :
                        new HashSet<>(cluster.getClusterNodes().values())) {
                    try (Connection connection = pool.getResource()) {
                        facts.add(facts(connection.executeCommand(Protocol.Command.INFO)));
                    }
                }
                return facts;
            }
            return List.of(facts(client.executeCommand(new CommandArguments(Protocol.Command.INFO))));
        });
    }

    /** The URI without its password. */
    public String where() {
        return where;
    }

    private static ServerFacts facts(Object info) {
        return ServerFacts.parse(new String((byte[]) info, StandardCharsets.UTF_8));
    }

    private void checkServers() {
        servers().forEach(facts -> facts.check(where));
    }

    private static CommandArguments evalsha(Call call) {
        return evalsha(call.script(), call.keys(), call.arguments());
    }

    private static CommandArguments evalsha(Script script, List<byte[]> keys, List<byte[]> arguments) {
        CommandArguments all =
                new CommandArguments(Protocol.Command.EVALSHA).add(script.sha()).add(keys.size());
        keys.forEach(all::key);
        arguments.forEach(all::add);
        return all;
    }

    /** Sends the script to the server that has the call's keys. */
    private void load(Call call) {
        client.scriptLoad(call.script().source(), call.keys().getFirst());
    }

    private interface Talk<T> {
        T now() throws JedisException;
    }

    private <T> T tell(String doing, Talk<T> talk) {
        try {
            return talk.now();
        } catch (JedisException | IllegalStateException e) {
            throw failure(doing, e);
        }
    }

    private HoldfastException failure(String doing, RuntimeException failure) {
        if (failure instanceof JedisException e) {
            if (e instanceof JedisConnectionException || e instanceof JedisRedirectionException) {
                transacts = false; // the next server may be another one
            }
            forgetConnections(e);
            return RedisFailures.of(doing, e);
        }
        // Jedis and its pool say so when they were closed.
        return HoldfastException.misuse(doing + ": the client is closed", "open a new Holdfast client");
    }

    /**
     * After a broken connection the idle ones are most likely broken too, and would fail one caller each: they are
     * thrown away. Those of a borrowed client are its owner's business.
     */
    private void forgetConnections(JedisException failure) {
        if (owned && failure instanceof JedisConnectionException) {
            switch (client) {
                case RedisClient single -> single.getPool().clear();
                case RedisSentinelClient sentinel ->
                    sentinel.getPrimaryNodesConnectionMap().values().forEach(Pool::clear);
                case RedisClusterClient cluster ->
                    cluster.getClusterNodes().values().forEach(ConnectionPool::clear);
                default -> {}
            }
        }
    }

    @Override
    public void close() {
        if (owned) {
            client.close();
        }
    }
}
