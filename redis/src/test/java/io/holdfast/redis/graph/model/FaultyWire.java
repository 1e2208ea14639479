package io.holdfast.redis.graph.model;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.CommandObject;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.executors.CommandExecutor;
import redis.clients.jedis.providers.ConnectionProvider;

/**
 * A network that loses requests, loses replies and delivers twice; and remembers what was sent, so that it can arrive
 * once more, much later.
 */
public final class FaultyWire implements AutoCloseable {

    private static final int MOST_REMEMBERED = 400;

    private final RedisClient real;
    private final RandomGenerator random;
    private final List<Supplier<?>> sent = new ArrayList<>();
    private boolean faults = true;

    public FaultyWire(HostAndPort server, RandomGenerator random) {
        this.real = RedisClient.builder().hostAndPort(server).build();
        this.random = random;
    }

    /** A client whose scripts go over this wire. */
    public UnifiedJedis client() {
        return RedisClient.builder()
                .hostAndPort(new HostAndPort("127.0.0.1", 1))
                .commandExecutor(new Wire())
                .connectionProvider(new Lines())
                .build();
    }

    public void faults(boolean on) {
        faults = on;
    }

    /** Something that was sent before arrives again. */
    public void repeatOneLate() {
        if (!sent.isEmpty()) {
            repeat(sent.get(random.nextInt(sent.size())));
        }
    }

    public void repeatAllLate() {
        List.copyOf(sent).forEach(this::repeat);
    }

    private void repeat(Supplier<?> request) {
        try {
            Object unused = request.get();
        } catch (JedisDataException e) {
            // An error reply to nobody.
        }
    }

    private void remember(Supplier<?> request) {
        if (sent.size() < MOST_REMEMBERED) {
            sent.add(request);
        } else {
            sent.set(random.nextInt(MOST_REMEMBERED), request);
        }
    }

    private <T> T deliver(Supplier<T> request) {
        int fate = faults ? random.nextInt(100) : 100;
        if (fate < 3) {
            throw new JedisConnectionException("the request was lost");
        }
        // Only what arrived can arrive once more; a lost request that arrives late is a first time, and may do its
        // work.
        T answer = request.get();
        remember(request);
        if (fate < 6) {
            throw new JedisConnectionException("the reply was lost");
        }
        return fate < 9 ? request.get() : answer;
    }

    @Override
    public void close() {
        real.close();
    }

    private final class Wire implements CommandExecutor {

        @Override
        public <T> T executeCommand(CommandObject<T> command) {
            CommandArguments arguments = command.getArguments();
            if (!arguments.getCommand().equals(Protocol.Command.EVALSHA)) {
                return real.executeCommand(command);
            }
            return deliver(() -> real.executeCommand(command));
        }

        @Override
        public void close() {}
    }

    private final class Lines implements ConnectionProvider {

        @Override
        public Connection getConnection() {
            return new Line();
        }

        @Override
        public Connection getConnection(CommandArguments arguments) {
            return new Line();
        }

        @Override
        public void close() {}
    }

    /**
     * What a pipeline is sent over. All of it is one request, which is lost, repeated or not answered as a whole; or it
     * breaks off behind a transaction, so that what follows never arrives.
     */
    private final class Line extends Connection {

        private final List<CommandArguments> commands = new ArrayList<>();

        @Override
        public void sendCommand(CommandArguments arguments) {
            commands.add(arguments);
        }

        @Override
        public List<Object> getMany(int count) {
            List<CommandArguments> request = List.copyOf(commands);
            commands.clear();
            int first = 1
                    + request.stream()
                            .map(CommandArguments::getCommand)
                            .toList()
                            .indexOf(Protocol.Command.EXEC);
            if (faults && first > 0 && first < request.size() && random.nextInt(20) == 0) {
                List<Object> unseen = deliver(() -> exchange(request.subList(0, first)));
                throw new JedisConnectionException("broken off after " + unseen.size() + " replies");
            }
            return deliver(() -> exchange(request));
        }

        private List<Object> exchange(List<CommandArguments> request) {
            try (Pipeline pipeline = real.pipelined()) {
                request.forEach(pipeline::sendCommand);
                return pipeline.syncAndReturnAll();
            }
        }

        @Override
        public void close() {}
    }
}
