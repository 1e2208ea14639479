package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A catalogue on a real PostgreSQL server, which changes while it is scanned. */
class PostgresCatalogueIT extends CatalogueContract {

    private static final String QUERY = "select node, id, created from pieces";

    private static EmbeddedPostgres server;
    private static HikariDataSource pool;

    @BeforeAll
    static void start() throws Exception {
        server = EmbeddedPostgres.builder().setServerConfig("fsync", "off").start();
        HikariConfig config = new HikariConfig();
        config.setDataSource(server.getPostgresDatabase());
        config.setMaximumPoolSize(6);
        pool = new HikariDataSource(config);
        execute("create table pieces(node text, id bytea, created timestamptz)");
        execute("create index on pieces(node)");
    }

    @AfterAll
    static void stop() throws Exception {
        pool.close();
        server.close();
    }

    @BeforeEach
    void clear() throws SQLException {
        execute("truncate pieces");
    }

    @Override
    protected Catalogue catalogue(List<Row> rows) throws SQLException {
        insert(rows);
        return JdbcCatalogue.of(pool, QUERY).owner("photos").ranges(4);
    }

    /**
     * The incident: a piece is copied to a node behind the cursor and deleted at the node ahead of it; a scan of the
     * changing table sees it at neither place. Here rows wander all the time, and every scan sees each exactly once.
     */
    @Test
    void copyBehindTheCursorWithDeleteAheadOfItHidesNothing() throws Exception {
        List<Row> rows = rows(4_000);
        Catalogue catalogue = catalogue(rows);
        Set<PieceId> expected = new HashSet<>();
        rows.forEach(row -> expected.add(row.id()));
        try (Catalogue.Snapshot snapshot = catalogue.open()) {
            assertThat(snapshot.ranges()).isGreaterThan(1);
            List<PieceId> seen = new ArrayList<>();
            for (int range = 0; range < snapshot.ranges(); range++) {
                snapshot.scan(range, (node, id, created) -> {
                    seen.add(PieceId.of(id));
                    if (seen.size() % 500 == 0) {
                        // Ahead of the cursor to behind it.
                        execute("update pieces set node = 'node-0' where node > '" + node + "'");
                    }
                });
            }
            assertThat(seen).hasSize(rows.size()).containsAll(expected);
            snapshot.check();
        }
        // The canary: over the changing table itself, the same ranges lose pieces.
        execute("truncate pieces");
        insert(rows);
        Set<PieceId> naive = new HashSet<>();
        for (String where : List.of("node < 'node-4'", "node >= 'node-4'")) {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement();
                    var result = statement.executeQuery("select id from pieces where " + where)) {
                while (result.next()) {
                    naive.add(PieceId.of(result.getBytes(1)));
                }
            }
            execute("update pieces set node = 'node-0' where node >= 'node-4'");
        }
        assertThat(naive.size()).isLessThan(rows.size());
    }

    @Test
    void lateCommitIsNotInTheSnapshotAndTheClockWasReadBefore() throws Exception {
        Catalogue catalogue = catalogue(rows(10));
        try (Connection late = pool.getConnection()) {
            late.setAutoCommit(false);
            try (Statement statement = late.createStatement()) {
                statement.execute("insert into pieces values ('node-1', '\\x01', now())");
            }
            try (Catalogue.Snapshot snapshot = catalogue.open()) {
                late.commit();
                assertThat(scan(snapshot)).hasSize(10);
                try (Connection connection = pool.getConnection();
                        Statement statement = connection.createStatement();
                        var row = statement.executeQuery("select clock_timestamp()")) {
                    row.next();
                    assertThat(row.getTimestamp(1).toInstant()).isAfter(snapshot.takenAt());
                }
            }
        }
    }

    @Test
    void collationOfTheDatabaseOpensNoGapBetweenRanges() throws Exception {
        execute("create collation if not exists words (provider = icu, locale = 'en')");
        execute("alter table pieces alter column node type text collate words");
        List<Row> rows = new ArrayList<>();
        for (String node : List.of("a-1", "B-1", "b-2", "_x", "A-1", "a_1", "Z", "z", "0", "-")) {
            for (int i = 0; i < 30; i++) {
                rows.add(new Row(
                        new NodeId(node),
                        PieceId.of((node + "/" + i).getBytes(java.nio.charset.StandardCharsets.UTF_8)),
                        i));
            }
        }
        try (Catalogue.Snapshot snapshot = catalogue(rows).open()) {
            assertThat(snapshot.ranges()).isGreaterThan(1);
            assertThat(scan(snapshot)).containsExactlyInAnyOrderElementsOf(rows);
        }
        execute("alter table pieces alter column node type text");
    }

    @Test
    void lostSnapshotAbortsTheScan() throws Exception {
        Catalogue catalogue = catalogue(rows(1_000));
        Catalogue.Snapshot snapshot = catalogue.open();
        execute("select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'");
        assertThatThrownBy(() -> scan(snapshot)).isInstanceOf(SQLException.class);
        assertThatThrownBy(snapshot::check).isInstanceOf(SQLException.class);
        snapshot.close();
    }

    @Test
    void incarnationNamesThisLifeOfTheDatabase() throws Exception {
        try (Catalogue.Snapshot snapshot = catalogue(rows(10)).open()) {
            assertThat(snapshot.incarnation()).matches("\\d+/\\d+/\\d+");
        }
    }

    @Test
    void connectionsGoBackToThePool() throws Exception {
        Catalogue catalogue = catalogue(rows(500));
        for (int i = 0; i < 10; i++) {
            try (Catalogue.Snapshot snapshot = catalogue.open()) {
                scan(snapshot);
            }
        }
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    private static void insert(List<Row> rows) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement insert = connection.prepareStatement("insert into pieces values (?, ?, ?)")) {
            for (Row row : rows) {
                insert.setString(1, row.node().name());
                insert.setBytes(2, row.id().bytes());
                insert.setTimestamp(3, new Timestamp(row.created()));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
