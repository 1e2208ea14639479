package io.holdfast.app.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.Settings;
import io.holdfast.app.sweep.SmallNode;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.SharedRedis;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The daemon's sweep of nodes on this machine. */
class ServeSweepIT {

    @RegisterExtension
    static final SharedRedis REDIS = SharedRedis.plain();

    @RegisterExtension
    final Daemons daemons = new Daemons(REDIS);

    @Test
    void aTableOfADatabaseIsAsked() throws Exception {
        SmallNode node = SmallNode.make(Files.createDirectory(daemons.at("sweep")), new OwnerId("photos"), 60, 5);
        String url = "jdbc:h2:mem:served;DB_CLOSE_DELAY=-1";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("create table pieces (node varchar(64), id binary(32), created timestamp)");
            try (PreparedStatement insert = connection.prepareStatement("insert into pieces values (?, ?, ?)")) {
                for (PieceId id : node.live()) {
                    insert.setString(1, "n1");
                    insert.setBytes(2, id.bytes());
                    insert.setTimestamp(3, Timestamp.from(Instant.now()));
                    insert.executeUpdate();
                }
            }
        }
        try (Daemon daemon = daemons.start(
                "serve.sweep.catalogue = " + url,
                "serve.sweep.query = select node, id, created from pieces",
                "serve.sweep.owner = photos",
                "serve.sweep.interval = 1s",
                "serve.sweep.nodes = " + node.folder())) {
            await().atMost(Daemons.PATIENCE).until(() -> node.trashed() > 0);
            assertThat(daemons.detail(daemon, "sweep")).startsWith("cycle ");
        }
    }

    /** A file of gigabytes was read every few seconds to learn whose turn it is. */
    @Test
    void aCatalogueFileIsNotReadBetweenTwoCycles() throws Exception {
        SmallNode node = SmallNode.make(Files.createDirectory(daemons.at("sweep")), new OwnerId("photos"), 60, 5);
        Settings settings = ServeSettings.read(
                daemons.config("serve.sweep.catalogue = " + node.catalogue(), "serve.sweep.nodes = " + node.folder()),
                new Properties(),
                Map.of());
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        RedisPart redis = new RedisPart(settings, new DaemonMeters(registry));
        redis.start();
        SweepPart sweep = new SweepPart(settings, redis, new SweepMeters(registry));
        try {
            assertThat(sweep.look()).startsWith("cycle 1: 65 pieces examined");
            Files.delete(node.catalogue());
            assertThat(sweep.look()).startsWith("cycle 1: 65 pieces examined");
        } finally {
            sweep.stop();
            redis.stop();
        }
    }
}
