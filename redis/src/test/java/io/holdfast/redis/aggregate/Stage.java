package io.holdfast.redis.aggregate;

import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ManualTime;
import io.holdfast.Settings;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.hold.ServerClock;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.Notices;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.testkit.RedisServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.h2.jdbcx.JdbcDataSource;
import redis.clients.jedis.Jedis;

/** Instances of the real code on a real server and a real database, with time in the hands of the test. */
final class Stage implements AutoCloseable {

    static final Duration LEASE = Duration.ofSeconds(9);
    static final Duration SOFT = Duration.ofSeconds(20);
    static final Duration HARD = Duration.ofSeconds(60);
    static final Duration CLAIM = Duration.ofSeconds(6);
    static final int SHARDS = 2;
    static final String SET = "visits";
    private static final AtomicInteger DATABASES = new AtomicInteger();

    final ManualTime time = new ManualTime();
    final RedisLink link;
    final JdbcDataSource database = new JdbcDataSource();
    private final RedisServer server;
    private Duration ahead = Duration.ZERO;
    private final List<Actor> actors = new ArrayList<>();

    Stage(RedisServer server) {
        this.server = server;
        this.link = RedisLink.connect(Settings.none()
                .set(LinkSettings.URI, server.uri().toString())
                .set(LinkSettings.TIMEOUT, Duration.ofMillis(500)));
        database.setURL("jdbc:h2:mem:stage" + DATABASES.incrementAndGet() + ";DB_CLOSE_DELAY=-1");
    }

    /** A row of the sink's table. */
    record Row(String key, long epoch, long views, long updates, int parts) {}

    List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(
                        "select aggregate_key, epoch, views, updates, parts from holdfast_visits order by 1, 2")) {
            while (found.next()) {
                rows.add(new Row(
                        found.getString(1), found.getLong(2), found.getLong(3), found.getLong(4), found.getInt(5)));
            }
        } catch (SQLException e) {
            if (!"42S02".equals(e.getSQLState()) && !"42S04".equals(e.getSQLState())) {
                throw new IllegalStateException(e);
            } // no table yet
        }
        return rows;
    }

    List<Row> rows(String key) {
        return rows().stream().filter(row -> row.key().equals(key)).toList();
    }

    long views(String key) {
        return rows(key).stream().mapToLong(Row::views).sum();
    }

    Actor actor(String name) {
        return actor(name, builder -> builder);
    }

    /** A new process; the first one waits until the new set believes its deadlines. */
    Actor actor(String name, UnaryOperator<AggregatesBuilder<Visit>> settings) {
        Actor actor = new Actor(name, settings);
        actors.add(actor);
        if (actors.size() == 1) {
            pass(LEASE);
        }
        return actor;
    }

    /** Time passes for everybody, and those that are not stalled do their duties all the while. */
    void pass(Duration duration) {
        for (Duration left = duration; left.isPositive(); ) {
            Duration step = left.compareTo(Duration.ofSeconds(1)) < 0 ? left : Duration.ofSeconds(1);
            time.advance(step);
            try (Jedis jedis = server.client()) {
                ahead = ahead.plus(step);
                ServerClock.ahead(jedis, ahead);
            }
            step();
            left = left.minus(step);
        }
    }

    void step() {
        actors.forEach(Actor::step);
    }

    /** The server's clock jumps; that of the instances does not. */
    void jump(Duration by) {
        ahead = ahead.plus(by);
        try (Jedis jedis = server.client()) {
            ServerClock.ahead(jedis, ahead);
        }
    }

    /** A second passes while one instance waits for an answer: the others go on. */
    void passWithout(Actor waiting) {
        time.advance(Duration.ofSeconds(1));
        try (Jedis jedis = server.client()) {
            ahead = ahead.plusSeconds(1);
            ServerClock.ahead(jedis, ahead);
        }
        actors.stream().filter(actor -> actor != waiting).forEach(Actor::step);
    }

    @Override
    public void close() {
        link.close();
    }

    /** One instance. */
    final class Actor implements ScriptCaller {
        final Aggregates<Visit> visits;
        final DutyRunner duties = DutyRunner.manual(time);
        final Client client;
        /** Everything that was sent, to be sent again. */
        final List<Call> sent = new ArrayList<>();

        final List<Flush<Visit>> flushed = new ArrayList<>();
        final Deque<Runnable> tasks = new ArrayDeque<>();
        private final JdbcSink<Visit> table = JdbcSink.to(database);

        Predicate<Call> losesRequest = call -> false;
        Predicate<Call> losesReply = call -> false;
        boolean sinkIsDown;
        /** A key that the sink refuses, and one that it puts off. */
        String refused = "";

        String putOff = "";
        boolean flushesLater;
        boolean stalled;
        boolean dead;

        Actor(String name, UnaryOperator<AggregatesBuilder<Visit>> settings) {
            client = new Client(link, duties, new Notices(), HolderId.newIncarnation(name), Settings.none(), time);
            visits = settings.apply(new AggregatesBuilder<>(client, SET, Visit.class, Visit::merge)
                            .softWindow(SOFT)
                            .hardWindow(HARD)
                            .publishInterval(Duration.ofSeconds(1))
                            .set(AggregateSettings.LEASE, LEASE)
                            .set(AggregateSettings.CLAIM, CLAIM)
                            .set(AggregateSettings.SHARDS, SHARDS)
                            .set(AggregateSettings.ADD_WAIT, Duration.ZERO)
                            .sink(this::flush)
                            .executor(tasks::add)
                            .callbacks(Runnable::run)
                            .through(this))
                    .start();
        }

        private void flush(List<Flush<Visit>> batch) {
            if (sinkIsDown) {
                throw new HoldfastException(Category.RETRY, "the database is down");
            }
            if (batch.stream().anyMatch(flush -> flush.key().equals(refused))) {
                throw new IllegalStateException("not this one");
            }
            if (batch.stream().anyMatch(flush -> flush.key().equals(putOff))) {
                throw new HoldfastException(Category.RETRY, "somebody has the row");
            }
            table.flush(batch);
            flushed.addAll(batch);
        }

        private void step() {
            if (!stalled && !dead) {
                duties.runDue();
                runTasks();
            }
        }

        void runTasks() {
            while (!flushesLater && !tasks.isEmpty()) {
                tasks.remove().run();
            }
        }

        /** As kill -9. */
        void die() {
            dead = true;
        }

        Call last(String script) {
            return sent.stream()
                    .filter(call -> call.script().name().equals(script))
                    .reduce((first, second) -> second)
                    .orElseThrow();
        }

        @Override
        public Reply call(Call call) {
            sent.add(call);
            if (dead || losesRequest.test(call)) {
                throw new HoldfastException(Category.RETRY, "no answer");
            }
            Reply reply = link.call(call);
            if (losesReply.test(call)) {
                throw new HoldfastException(Category.RETRY, "no answer");
            }
            return reply;
        }

        @Override
        public List<Outcome> callAll(List<Call> calls) {
            List<Outcome> outcomes = new ArrayList<>();
            for (Call call : calls) {
                try {
                    outcomes.add(new Outcome(call(call), null));
                } catch (HoldfastException e) {
                    outcomes.add(new Outcome(null, e));
                }
            }
            return outcomes;
        }
    }
}
