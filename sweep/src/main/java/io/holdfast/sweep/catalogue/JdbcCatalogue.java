package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Locale;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The live pieces as a query over a relational database. The query gives one row a piece, with the columns {@code node},
 * {@code id} and {@code created}; it is used as a sub-select, so joins, unions and unnested arrays are all fine.
 *
 * <pre>{@code
 * JdbcCatalogue.of(dataSource, "select node, id, created from pieces").owner("photos").idForm(IdForm.HEX)
 * }</pre>
 *
 * <h2>One snapshot</h2>
 *
 * A scan that sees the catalogue change is how live data gets deleted: a piece copied behind the cursor and deleted
 * ahead of it is seen at neither place. So all ranges, the counts and {@code contains} see one frozen view:
 *
 * <ul>
 *   <li>PostgreSQL: a repeatable-read transaction exports its snapshot and stays open until the end; each range runs on
 *       a connection of its own that imports it. The pool needs {@code ranges + 1} connections.
 *   <li>H2, and databases that cannot share one: everything is read over one connection, in one transaction of the
 *       isolation level SNAPSHOT (H2) or SERIALIZABLE (others).
 * </ul>
 *
 * Ranges are cut by node, at borders that the database itself ordered, so that its collation cannot open a gap between
 * two ranges; and what the ranges hand over is compared with what the same snapshot counted.
 */
public final class JdbcCatalogue implements Catalogue {

    static final int FETCH_ROWS = 10_000;

    /** H2's number for the isolation level that JDBC has no constant for. */
    private static final int H2_SNAPSHOT = 6;

    private final DataSource dataSource;
    private final String query;
    private OwnerId owner = new OwnerId("default");
    private IdForm idForm = IdForm.BYTES;
    private int ranges = 4;
    private @Nullable String incarnationQuery;

    private JdbcCatalogue(DataSource dataSource, String query) {
        this.dataSource = dataSource;
        this.query = query;
    }

    public static JdbcCatalogue of(DataSource dataSource, String query) {
        String trimmed = query.strip();
        String lower = trimmed.toLowerCase(Locale.ROOT);
        boolean reads = lower.startsWith("select") || lower.startsWith("with");
        if (!reads || trimmed.contains(";")) {
            throw HoldfastException.misuse(
                    "the catalogue query '" + query + "'",
                    "give one SELECT without a semicolon that yields the columns node, id, created");
        }
        return new JdbcCatalogue(dataSource, trimmed);
    }

    /** Whose pieces the query names; default {@code default}. */
    public JdbcCatalogue owner(String name) {
        owner = new OwnerId(name);
        return this;
    }

    /** How the query writes ids; default bytes. */
    public JdbcCatalogue idForm(IdForm form) {
        idForm = form;
        return this;
    }

    /** How many ranges are read side by side, where the database can; default 4. */
    public JdbcCatalogue ranges(int count) {
        if (count < 1 || count > 64) {
            throw HoldfastException.misuse(count + " ranges", "use 1 to 64");
        }
        ranges = count;
        return this;
    }

    /** A query for one text that changes when the database is replaced or restored; needed where there is none built in. */
    public JdbcCatalogue incarnation(String sql) {
        incarnationQuery = sql;
        return this;
    }

    @Override
    public OwnerId owner() {
        return owner;
    }

    @Override
    public Snapshot open() throws SQLException {
        Connection connection = dataSource.getConnection();
        try {
            String product = connection.getMetaData().getDatabaseProductName();
            boolean postgres = product.equalsIgnoreCase("PostgreSQL");
            connection.setAutoCommit(true);
            Instant takenAt = clock(connection, postgres);
            String incarnation = incarnation(connection, postgres);
            String shared = freeze(connection, product);
            return new JdbcSnapshot(this, connection, shared, takenAt, incarnation);
        } catch (SQLException | RuntimeException e) {
            try {
                connection.close();
            } catch (SQLException closing) {
                e.addSuppressed(closing);
            }
            throw e;
        }
    }

    private static Instant clock(Connection connection, boolean postgres) throws SQLException {
        String sql = postgres ? "select clock_timestamp()" : "select current_timestamp";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getTimestamp(1).toInstant();
        }
    }

    private String incarnation(Connection connection, boolean postgres) throws SQLException {
        String sql = incarnationQuery;
        if (sql == null && postgres) {
            // Another cluster, a recovery to an earlier point, or a database loaded from a dump: each changes one of
            // them.
            sql = "select s.system_identifier || '/' || c.timeline_id || '/' || d.oid"
                    + " from pg_control_system() s, pg_control_checkpoint() c, pg_database d"
                    + " where d.datname = current_database()";
        }
        if (sql == null) {
            return "unnamed";
        }
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            String text = row.next() ? row.getString(1) : null;
            if (text == null) {
                throw new HoldfastException(Category.CORRUPT, "the incarnation query gave nothing: " + sql);
            }
            return text;
        }
    }

    /** Begins the transaction of the snapshot; answers its exported name, or an empty text if it cannot be shared. */
    private static String freeze(Connection connection, String product) throws SQLException {
        connection.setReadOnly(true);
        switch (product.toLowerCase(Locale.ROOT)) {
            case "postgresql" -> {
                connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                connection.setAutoCommit(false);
                try (Statement statement = connection.createStatement();
                        ResultSet row = statement.executeQuery("select pg_export_snapshot()")) {
                    row.next();
                    return row.getString(1);
                }
            }
            case "h2" -> {
                connection.setTransactionIsolation(H2_SNAPSHOT);
                connection.setAutoCommit(false);
                return "";
            }
            default ->
                throw HoldfastException.misuse(
                        "a catalogue on " + product
                                + ", of which it is not known how to freeze a view without locking its rows",
                        "use PostgreSQL or H2, export a catalogue file, or implement Catalogue (docs/sweep.md)");
        }
    }

    /** A further connection on the exported snapshot. */
    Connection join(String shared) throws SQLException {
        Connection connection = dataSource.getConnection();
        try {
            connection.setReadOnly(true);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("set transaction snapshot '" + shared + "'");
            }
            return connection;
        } catch (SQLException e) {
            JdbcSnapshot.giveBack(connection);
            throw e;
        }
    }

    String query() {
        return query;
    }

    IdForm idForm() {
        return idForm;
    }

    int rangesWanted() {
        return ranges;
    }

    /** One row of the query as a piece. */
    void hand(ResultSet row, NodeNames names, PieceSink sink) throws Exception {
        String node = row.getString(1);
        byte @Nullable [] id = id(row, 2);
        Timestamp created = row.getTimestamp(3);
        if (node == null || id == null || created == null) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the catalogue has a piece without a node, an id or a creation time",
                    "correct the query; nothing was trashed",
                    null);
        }
        sink.piece(names.of(node), id, created.getTime());
    }

    byte @Nullable [] id(ResultSet row, int column) throws SQLException {
        if (idForm == IdForm.BYTES) {
            return row.getBytes(column);
        }
        String text = row.getString(column);
        return text == null ? null : idForm.decode(text);
    }

    /** Nodes come in runs or from a small set: each name is checked once. */
    static final class NodeNames {
        private final java.util.HashMap<String, NodeId> known = new java.util.HashMap<>();

        NodeId of(String name) {
            return known.computeIfAbsent(name, NodeId::new);
        }
    }
}
