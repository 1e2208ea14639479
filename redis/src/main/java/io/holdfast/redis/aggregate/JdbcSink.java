package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Writes one row per (key, epoch) to a table, batch by batch, each batch in one transaction. Tested on H2 and PostgreSQL.
 *
 * <pre>
 *   set_name                the set; a table has rows of one set only
 *   aggregate_key epoch     the primary key
 *   token                   of the claim that wrote the row
 *   updates parts           how many updates, from how many instances
 *   first_event last_event  the earliest and the latest event time; null if none was given
 *   flushed_at              by the clock of this process
 *   digest value_bytes      a digest of what was merged, and the value by the codec
 *   …                       each component of a record of a simple type as a column of its own: pageViews is page_views
 * </pre>
 *
 * <ol>
 *   <li>A row that is there with the same digest is the same flush again: success. With another digest the flush is refused
 *       and becomes a dead letter; no row is ever overwritten.
 *   <li>Times are instants ({@code timestamp with time zone}). A table whose times have no zone is refused.
 *   <li>The table of one set refuses rows of another, by a constraint: see {@link #tableOf}.
 *   <li>A lost connection is a failure of category RETRY, which does not count as an attempt. A failure of rollback or
 *       close never replaces the failure that came first.
 * </ol>
 */
public final class JdbcSink<T> implements Sink<T> {

    private static final System.Logger LOG = System.getLogger(JdbcSink.class.getName());
    private static final Pattern TABLE =
            Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}(\\.[A-Za-z_][A-Za-z0-9_]{0,62})?");

    private final DataSource database;
    private final @Nullable String table;
    private final boolean create;
    /** The tables that this process has made or inspected. */
    private final Set<String> ready = ConcurrentHashMap.newKeySet();

    private JdbcSink(DataSource database, @Nullable String table, boolean create) {
        this.database = database;
        this.table = table;
        this.create = create;
    }

    /** A sink that writes each set to the table {@link #tableOf} of it, and makes the table if it is not there. */
    public static <T> JdbcSink<T> to(DataSource database) {
        return new JdbcSink<>(database, null, true);
    }

    /**
     * Writes to another table. Each set needs one of its own.
     *
     * @throws HoldfastException MISUSE for a name with other characters than letters, digits and underscores
     */
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

    /**
     * The table of a set: {@code holdfast_NAME} for a name of at most 54 characters of a-z, 0-9 and underscore. Any other name
     * is shortened to such characters and gets a digest of the whole name behind it, so that no two sets share a table.
     *
     * @throws HoldfastException MISUSE for a name that no set can have
     */
    public static String tableOf(String set) {
        return JdbcTable.nameFor(set);
    }

    /**
     * The statement that makes a table for values like this one.
     *
     * @param set the set whose rows it takes
     * @throws HoldfastException MISUSE for a name that no set can have
     */
    public static String definition(String set, String table, Object value, boolean postgres) {
        return new JdbcTable(table, set, JdbcColumns.of(value)).definition(postgres);
    }

    /**
     * @throws HoldfastException RETRY if the database cannot be used now; MISUSE if the table does not fit, or belongs to
     *     another set
     */
    @Override
    public void flush(List<Flush<T>> batch) {
        if (batch.isEmpty()) {
            return;
        }
        Flush<T> first = batch.getFirst();
        String name = table != null ? table : tableOf(first.set());
        JdbcTable target = new JdbcTable(name, first.set(), JdbcColumns.of(first.value()));
        boolean written = false;
        try (Connection connection = database.getConnection()) {
            write(connection, target, batch);
            written = true;
        } catch (SQLException e) {
            if (!written) {
                ready.remove(name); // somebody may have dropped the table
                throw JdbcFailures.of(e, target);
            }
            LOG.log(
                    Level.DEBUG,
                    () -> "table " + name + ": the rows are committed, closing the connection failed: " + e);
        }
    }

    private void write(Connection connection, JdbcTable target, List<Flush<T>> batch) throws SQLException {
        connection.setAutoCommit(false);
        try {
            if (ready.add(target.name())) {
                prepare(connection, target);
            }
            insertAll(connection, target, batch);
            connection.commit();
        } catch (SQLException e) {
            rollBack(connection, e);
            if (!JdbcFailures.isDuplicate(e)) {
                throw e;
            }
            oneByOne(connection, target, batch);
        } catch (RuntimeException e) {
            ready.remove(target.name());
            rollBack(connection, e);
            throw e;
        }
    }

    /** @throws SQLException the first failure, as one of a lost connection, if the rollback fails */
    private static void rollBack(Connection connection, Exception first) throws SQLException {
        try {
            connection.rollback();
        } catch (SQLException e) {
            SQLException lost = JdbcFailures.lostConnection(first);
            lost.addSuppressed(e);
            throw lost;
        }
    }

    private void prepare(Connection connection, JdbcTable target) throws SQLException {
        if (create) {
            try {
                target.make(connection);
                connection.commit();
            } catch (SQLException e) {
                rollBack(connection, e);
                // Two instances that make it at the same moment disturb each other on PostgreSQL.
                if (!JdbcFailures.isMadeByAnother(e)) {
                    throw e;
                }
            }
        }
        target.inspect(connection);
    }

    private static <T> void insertAll(Connection connection, JdbcTable target, List<Flush<T>> batch)
            throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(target.insertion())) {
            for (Flush<T> flush : batch) {
                target.bind(insert, flush);
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    /** Some are there already: each in a transaction of its own, compared by digest. */
    private static <T> void oneByOne(Connection connection, JdbcTable target, List<Flush<T>> batch)
            throws SQLException {
        for (Flush<T> flush : batch) {
            try {
                if (!isThere(connection, target, flush)) {
                    insertAll(connection, target, List.of(flush));
                }
                connection.commit();
            } catch (SQLException e) {
                rollBack(connection, e);
                // Another instance, whose claim has run out, may write the same row at this moment.
                if (!JdbcFailures.isDuplicate(e) || !isThere(connection, target, flush)) {
                    throw e;
                }
                connection.commit();
            }
        }
    }

    /** Whether the row is there; refuses the flush if it is another one. */
    private static boolean isThere(Connection connection, JdbcTable target, Flush<?> flush) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(target.selection())) {
            select.setString(1, flush.key());
            select.setLong(2, flush.epoch());
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    return false;
                }
                String set = row.getString(1);
                String digest = row.getString(2);
                if (!flush.set().equals(set)) {
                    flush.refuse("table " + target.name() + " has a row of set '" + set
                            + "' for this key and epoch; give each set a table of its own");
                } else if (!flush.digest().equals(digest)) {
                    flush.refuse("table " + target.name() + " has another value for this key and epoch: digest "
                            + digest + " there, " + flush.digest() + " here");
                }
                return true;
            }
        }
    }
}
