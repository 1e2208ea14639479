package io.holdfast.app.demo;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.Why;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.why.Whys;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.redis.aggregate.Position;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import javax.sql.DataSource;

/** Two instances add up, one is killed, and the sum is in the database once. */
final class AggregatesChapter implements Chapter {

    private static final int HERE = 20_000;
    private static final int THERE = 5_000;

    static AggregatesBuilder<Visits> visits(Holdfast holdfast) {
        return holdfast.aggregates("visits", Visits.class, Visits::merge)
                .set(AggregateSettings.LEASE, Duration.ofSeconds(1))
                .softWindow(Duration.ofSeconds(2));
    }

    @Override
    public String title() {
        return "aggregates: a sum goes when it is in the database, whoever added to it";
    }

    @Override
    public void tell(Stage stage) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:file:" + stage.folder.resolve("database"));
        config.setMaximumPoolSize(2);
        try (HikariDataSource database = new HikariDataSource(config);
                Aggregates<Visits> visits =
                        visits(stage.holdfast).sink(JdbcSink.to(database)).start()) {
            countThere(stage);
            try (Progress bar = stage.bar("adding visits", HERE)) {
                for (int i = 0; i < HERE; i++) {
                    visits.add("/home", new Visits(1, i % 100), Position.at("visits", 2, i));
                    bar.step(1);
                }
            }
            visits.publish();
            stage.claim(
                    visits.durable("visits", 2).orElse(-1) >= HERE - 1,
                    HERE + " visits added here are durable: the bus may forget them, a record of "
                            + visits.figures().publishedBytes() + " bytes is in Redis");
            visits.rewind("visits", 2);
            for (int i = 0; i < 100; i++) {
                visits.add("/home", new Visits(1, 0), Position.at("visits", 2, i));
            }
            visits.publish();
            stage.say("the bus delivers 100 of them again");
            Whys whys = new Whys(stage.holdfast);
            boolean gone = stage.await(() -> whys.ask("aggregate:visits//home") instanceof Why.Gone);
            stage.why(whys.ask("aggregate:visits//home"));
            Optional<Visits> row = row(database);
            stage.claim(
                    gone && row.equals(Optional.of(new Visits(HERE + THERE, THERE - 1L))),
                    "one row is in the database, with the part of the one who was killed, each visit once: "
                            + row.orElse(null));
            stage.figure("added", HERE + THERE);
            stage.figure("inTheDatabase", row.map(Visits::visits).orElse(0L));
        }
    }

    private static void countThere(Stage stage) throws Exception {
        Process other = stage.start(CountingInstance.class, stage.holdfast.where(), Integer.toString(THERE));
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(other.getInputStream(), StandardCharsets.UTF_8))) {
            String said = lines.readLine();
            stage.claim(
                    ("durable up to " + (THERE - 1)).equals(said),
                    "another process added " + THERE + " visits, and is killed with SIGKILL");
            other.destroyForcibly().waitFor();
        }
    }

    private static Optional<Visits> row(DataSource database) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "select sum(visits), max(longest_millis), count(*) from holdfast_visits")) {
            rows.next();
            return rows.getLong(3) == 1 ? Optional.of(new Visits(rows.getLong(1), rows.getLong(2))) : Optional.empty();
        }
    }
}
