package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Writes one row per (key, epoch) to a table, batch by batch, each batch in one transaction. Tested on H2 and PostgreSQL; it
 * uses nothing that another database would not have.
 *
 * <pre>
 *   aggregate_key epoch     the primary key
 *   token                   of the claim that wrote the row
 *   updates parts           how many updates, from how many instances
 *   first_event last_event  the earliest and the latest event time; null if none was given
 *   flushed_at              by the clock of this process
 *   digest value_bytes      the value by the codec, and its digest
 *   …                       each component of a record of a simple type as a column of its own: pageViews is page_views
 * </pre>
 *
 * A row that is there already is the same flush again if its digest is the same, and that is success. With another digest
 * something is wrong, and neither is overwritten: the flush becomes a dead letter.
 */
public final class JdbcSink<T> implements Sink<T> {

    private static final Pattern TABLE =
            Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}(\\.[A-Za-z_][A-Za-z0-9_]{0,62})?");

    /** H2: broken, closed, closing, not yet open again, lock time-out, out of disk; by its own numbers. */
    private static final Set<Integer> H2_PASSING = Set.of(90067, 90098, 90121, 90020, 90117, 50200, 90031, 90028);

    private final DataSource database;
    private final @Nullable String table;
    private final boolean create;
    private final Set<String> ready = ConcurrentHashMap.newKeySet();

    private JdbcSink(DataSource database, @Nullable String table, boolean create) {
        this.database = database;
        this.table = table;
        this.create = create;
    }

    /** A sink that writes to the table {@code holdfast_NAME}, and makes it if it is not there. */
    public static <T> JdbcSink<T> to(DataSource database) {
        return new JdbcSink<>(database, null, true);
    }

    /** Writes to another table. */
    public JdbcSink<T> table(String name) {
        if (!TABLE.matcher(name).matches()) {
            throw HoldfastException.misuse(
                    "the table name '" + name + "'", "give letters, digits and underscores, with a schema or without");
        }
        return new JdbcSink<>(database, name, create);
    }

    /** Expects the table to be there; {@link #definition} says how it must look. */
    public JdbcSink<T> withoutCreating() {
        return new JdbcSink<>(database, table, false);
    }

    @Override
    public void flush(List<Flush<T>> batch) {
        if (batch.isEmpty()) {
            return;
        }
        Flush<T> first = batch.getFirst();
        JdbcColumns columns = JdbcColumns.of(first.value());
        String name = tableOf(first.set());
        try (Connection connection = database.getConnection()) {
            if (create && ready.add(name)) {
                makeTable(connection, name, columns);
            }
            connection.setAutoCommit(false);
            try {
                insertAll(connection, name, columns, batch);
                connection.commit();
            } catch (SQLException e) {
                connection.rollback();
                if (!isDuplicate(e)) {
                    throw e;
                }
                oneByOne(connection, name, columns, batch);
            }
        } catch (SQLException e) {
            ready.remove(name); // somebody may have dropped the table
            throw failure(e, name);
        }
    }

    private String tableOf(String set) {
        return table != null
                ? table
                : "holdfast_" + set.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_");
    }

    private static <T> void insertAll(Connection connection, String table, JdbcColumns columns, List<Flush<T>> batch)
            throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(insertion(table, columns))) {
            for (Flush<T> flush : batch) {
                bind(insert, columns, flush);
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    /** Some are there already: each in a transaction of its own, compared by digest. */
    private static <T> void oneByOne(Connection connection, String table, JdbcColumns columns, List<Flush<T>> batch)
            throws SQLException {
        for (Flush<T> flush : batch) {
            String known = digestOf(connection, table, flush);
            if (known == null) {
                insertAll(connection, table, columns, List.of(flush));
            } else if (!known.equals(flush.digest())) {
                flush.refuse("table " + table + " has another value for this key and epoch: digest " + known
                        + " there, " + flush.digest() + " here");
            }
            connection.commit();
        }
    }

    private static @Nullable String digestOf(Connection connection, String table, Flush<?> flush) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("select digest from " + table + " where aggregate_key = ? and epoch = ?")) {
            select.setString(1, flush.key());
            select.setLong(2, flush.epoch());
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? row.getString(1) : null;
            }
        }
    }

    private static String insertion(String table, JdbcColumns columns) {
        return "insert into " + table
                + " (aggregate_key, epoch, token, updates, parts, first_event, last_event, flushed_at, digest,"
                + " value_bytes"
                + columns.names() + ") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?" + ", ?".repeat(columns.count()) + ")";
    }

    private static void bind(PreparedStatement insert, JdbcColumns columns, Flush<?> flush) throws SQLException {
        insert.setString(1, flush.key());
        insert.setLong(2, flush.epoch());
        insert.setLong(3, flush.token());
        insert.setLong(4, flush.updates());
        insert.setInt(5, flush.parts());
        time(insert, 6, flush.firstEvent());
        time(insert, 7, flush.lastEvent());
        insert.setTimestamp(8, Timestamp.from(Instant.now()));
        insert.setString(9, flush.digest());
        insert.setBytes(10, flush.bytes());
        columns.bind(insert, 11, flush.value());
    }

    private static void time(PreparedStatement insert, int index, Optional<Instant> time) throws SQLException {
        if (time.isPresent()) {
            insert.setTimestamp(index, Timestamp.from(time.get()));
        } else {
            insert.setNull(index, Types.TIMESTAMP);
        }
    }

    /** The statement that makes a table for values like this one. */
    public static String definition(String table, Object value, boolean postgres) {
        return "create table if not exists " + table + " (aggregate_key varchar(512) not null, epoch bigint not null, "
                + "token bigint not null, updates bigint not null, parts integer not null, "
                + "first_event timestamp, last_event timestamp, flushed_at timestamp not null, "
                + "digest varchar(32) not null, value_bytes " + (postgres ? "bytea" : "varbinary(1000000)")
                + " not null"
                + JdbcColumns.of(value).definitions(postgres)
                + ", primary key (aggregate_key, epoch))";
    }

    private void makeTable(Connection connection, String name, JdbcColumns columns) throws SQLException {
        boolean postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
        try (Statement statement = connection.createStatement()) {
            statement.execute(definition(name, columns.sample(), postgres));
        } catch (SQLException e) {
            ready.remove(name);
            // Two instances that make it at the same moment disturb each other on PostgreSQL.
            if (!isDuplicate(e) && !"42P07".equals(e.getSQLState())) {
                throw e;
            }
        }
    }

    private static boolean isDuplicate(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if (e.getSQLState() != null && e.getSQLState().startsWith("23")) {
                return true;
            }
        }
        return false;
    }

    /** What passes by itself is RETRY: the connection, the server's state, a lost race; not what is wrong with a row. */
    static HoldfastException failure(SQLException failure, String table) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if (isPassing(e)) {
                return new HoldfastException(
                        Category.RETRY, "the database of table " + table + " cannot be used now: " + e.getMessage(), e);
            }
        }
        return new HoldfastException(
                Category.MISUSE,
                "writing to table " + table + " failed: " + failure.getMessage(),
                "see whether the table has the columns that docs/aggregates.md lists",
                failure);
    }

    private static boolean isPassing(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return e instanceof SQLTransientException
                || e instanceof SQLRecoverableException
                || e instanceof SQLNonTransientConnectionException
                || H2_PASSING.contains(e.getErrorCode())
                || state.startsWith("08")
                || state.startsWith("40")
                || state.startsWith("53")
                || state.startsWith("57")
                || state.startsWith("58")
                || state.equals("HYT00");
    }
}
