package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.hold.HoldView.State;
import io.holdfast.testkit.SharedRedis;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A rolling deploy that changes the record: instances with the old and the new one write the same epoch. */
class CodecChangeIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    /** The next version of {@link Visit}. */
    record Views(long views) {
        Views merge(Views other) {
            return new Views(views + other.views);
        }
    }

    private final JdbcDataSource database = new JdbcDataSource();

    @Test
    void rowThatTheOldVersionWroteIsTheSameFlushForTheNewOne() throws Exception {
        database.setURL("jdbc:h2:mem:codec-change;DB_CLOSE_DELAY=-1");
        CountDownLatch written = new CountDownLatch(1);
        JdbcSink<Visit> table = JdbcSink.to(database);
        try (Holdfast old = Holdfast.connect(redis.uri().toString());
                Aggregates<Visit> visits = old.aggregates("visits", Visit.class, Visit::merge)
                        .set(AggregateSettings.LEASE, Duration.ofSeconds(1))
                        .sink(batch -> {
                            table.flush(batch);
                            written.countDown();
                            throw new HoldfastException(Category.RETRY, "the answer of the database was lost");
                        })
                        .start()) {
            visits.add("a", new Visit(5, 3));
            visits.end("a");
            written.await();
        }
        try (Holdfast changed = Holdfast.connect(redis.uri().toString());
                Aggregates<Views> visits = changed.aggregates("visits", Views.class, Views::merge)
                        .set(AggregateSettings.LEASE, Duration.ofSeconds(1))
                        .sink(JdbcSink.to(database))
                        .start()) {
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> visits.view().list(State.CLOSING, 10).isEmpty());
            assertThat(visits.view().list(State.DEAD_LETTER, 10)).isEmpty();
            assertThat(visits.figures().flushed()).isEqualTo(1);
        }
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select views from holdfast_visits")) {
            assertThat(row.next()).isTrue();
            assertThat(row.getLong(1)).isEqualTo(5);
            assertThat(row.next()).isFalse();
        }
    }
}
