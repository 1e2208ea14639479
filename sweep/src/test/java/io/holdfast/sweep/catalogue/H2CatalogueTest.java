package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class H2CatalogueTest extends CatalogueContract {

    private static final String QUERY = "select node, id, created from pieces";

    private final HikariDataSource pool = pool();

    private static HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        config.setMaximumPoolSize(2);
        HikariDataSource pool = new HikariDataSource(config);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "create table pieces(node varchar(64), id varbinary(64), created timestamp with time zone)");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return pool;
    }

    @AfterEach
    void close() {
        pool.close();
    }

    @Override
    protected Catalogue catalogue(List<Row> rows) throws SQLException {
        insert(rows);
        return JdbcCatalogue.of(pool, QUERY).owner("photos");
    }

    private void insert(List<Row> rows) throws SQLException {
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

    /** A data source that says it is another product, and hands over the statements that are prepared. */
    private DataSource pretending(String product, List<String> statements) {
        return (DataSource) proxy(DataSource.class, pool, product, statements);
    }

    private static Object proxy(Class<?> type, Object of, String product, List<String> statements) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            if (method.getName().equals("getDatabaseProductName")) {
                return product;
            }
            if (method.getName().equals("prepareStatement")) {
                statements.add((String) args[0]);
            }
            Object result = method.invoke(of, args);
            return switch (result) {
                case Connection connection -> proxy(Connection.class, connection, product, statements);
                case DatabaseMetaData data -> proxy(DatabaseMetaData.class, data, product, statements);
                case null, default -> result;
            };
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"MySQL", "Microsoft SQL Server", "MariaDB", "Something"})
    void databaseThatWouldLockEveryRowIsRefused(String product) {
        Catalogue catalogue =
                JdbcCatalogue.of(pretending(product, new ArrayList<>()), QUERY).owner("photos");
        assertThatThrownBy(() -> catalogue.open().close())
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("a catalogue on " + product);
    }

    @Test
    void onlyTheNodesAskedForAreReadAgain() throws Exception {
        insert(rows(2_000));
        List<String> statements = new ArrayList<>();
        Catalogue catalogue =
                JdbcCatalogue.of(pretending("H2", statements), QUERY).owner("photos");
        try (Catalogue.Snapshot snapshot = catalogue.open()) {
            List<NodeId> seen = new ArrayList<>();
            snapshot.scan(0, Set.of(new NodeId("node-1"), new NodeId("node-2")), (node, id, at) -> seen.add(node));
            assertThat(seen).isNotEmpty().containsOnly(new NodeId("node-1"), new NodeId("node-2"));
            assertThat(statements.getLast()).endsWith("where q.node in (?, ?)");
        }
    }

    @Test
    void everythingIsReadOverOneConnectionInOneSnapshot() throws Exception {
        List<Row> rows = rows(2_000);
        Catalogue catalogue = catalogue(rows);
        try (Catalogue.Snapshot snapshot = catalogue.open()) {
            assertThat(snapshot.ranges()).isEqualTo(1);
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("delete from pieces where node = 'node-6'");
                statement.execute("update pieces set node = 'node-0' where node = 'node-5'");
            }
            assertThat(scan(snapshot)).containsExactlyInAnyOrderElementsOf(rows);
            assertThat(snapshot.contains(
                            rows.getFirst().node(), rows.getFirst().id().bytes()))
                    .isTrue();
        }
    }

    @Test
    void connectionGoesBackToThePoolAsItWas() throws Exception {
        Catalogue catalogue = catalogue(rows(10));
        for (int i = 0; i < 5; i++) {
            catalogue.open().close();
        }
        try (Connection one = pool.getConnection();
                Connection other = pool.getConnection()) {
            assertThat(one.getAutoCommit()).isTrue();
            assertThat(one.isReadOnly()).isFalse();
            assertThat(one.getTransactionIsolation()).isEqualTo(other.getTransactionIsolation());
            assertThat(one.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"(null, X'01', now())", "('node-1', null, now())", "('node-1', X'01', null)"})
    void rowWithAHoleAbortsTheScan(String values) throws Exception {
        Catalogue catalogue = catalogue(rows(10));
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("insert into pieces values " + values);
        }
        assertThatThrownBy(() -> {
                    try (Catalogue.Snapshot snapshot = catalogue.open()) {
                        scan(snapshot);
                    }
                })
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("without a node");
    }

    @ParameterizedTest
    @ValueSource(strings = {"delete from pieces", "select 1; drop table pieces", ""})
    void anythingButOneSelectIsRefused(String query) {
        assertThatThrownBy(() -> JdbcCatalogue.of(pool, query)).isInstanceOf(HoldfastException.class);
    }

    @Test
    void incarnationIsWhatTheQueryGives() throws Exception {
        try (Catalogue.Snapshot snapshot =
                JdbcCatalogue.of(pool, QUERY).incarnation("select 'life-7'").open()) {
            assertThat(snapshot.incarnation()).isEqualTo("life-7");
        }
    }
}
