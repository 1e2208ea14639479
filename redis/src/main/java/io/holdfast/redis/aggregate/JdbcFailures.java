package io.holdfast.redis.aggregate;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** What a failure of a database means for a flush: by SQLSTATE, and by the class where a driver gives no state. */
final class JdbcFailures {

    /** H2: broken, closed, closing, not yet open again, lock time-out, out of disk; by its own numbers. */
    private static final Set<Integer> H2_PASSING = Set.of(90067, 90098, 90121, 90020, 90117, 50200, 90031, 90028);

    /** Connection, rollback by the server, resources, intervention by an operator, errors outside the database. */
    private static final Set<String> PASSING_CLASSES = Set.of("08", "40", "53", "57", "58");

    /** Read-only, as a primary is after a fail-over; a lock that is not free; a time-out. */
    private static final Set<String> PASSING_STATES = Set.of("25006", "55P03", "HYT00");

    private JdbcFailures() {}

    /** RETRY for what passes by itself: the connection, the server's state, a lost race. MISUSE for what is wrong with a row. */
    static HoldfastException of(SQLException failure, JdbcTable table) {
        for (SQLException e : chain(failure)) {
            if (isPassing(e)) {
                return new HoldfastException(
                        Category.RETRY,
                        "the database of table " + table.name() + " cannot be used now: " + e.getMessage(),
                        failure);
            }
        }
        for (SQLException e : chain(failure)) {
            if (String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT).contains(JdbcTable.CONSTRAINT)) {
                return new HoldfastException(
                        Category.MISUSE,
                        "table " + table.name() + " belongs to another set than '" + table.set() + "'",
                        "give each set a table of its own: leave JdbcSink.table(…) out, or name another one",
                        failure);
            }
        }
        return new HoldfastException(
                Category.MISUSE,
                "writing to table " + table.name() + " failed: " + failure.getMessage(),
                "compare the table with the columns in docs/aggregates.md",
                failure);
    }

    /** The failure after which a connection could not be used any more; its state says so, whatever it was. */
    static SQLException lostConnection(Exception first) {
        return new SQLException(first.getMessage(), "08006", first);
    }

    /** Whether a row may be there already; some databases say no more than that a constraint was violated. */
    static boolean isDuplicate(SQLException failure) {
        return chain(failure).stream()
                .anyMatch(e -> e.getSQLState() != null && e.getSQLState().startsWith("23"));
    }

    static boolean isMadeByAnother(SQLException failure) {
        return isDuplicate(failure) || "42P07".equals(failure.getSQLState());
    }

    /** The failure, those of the other rows of its batch, and their causes: a pool wraps what its driver said. */
    private static List<SQLException> chain(SQLException failure) {
        List<SQLException> all = new ArrayList<>();
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            all.add(e);
            if (e.getCause() instanceof SQLException cause) {
                all.add(cause);
            }
        }
        return all;
    }

    private static boolean isPassing(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return e instanceof SQLTransientException
                || e instanceof SQLRecoverableException
                || e instanceof SQLNonTransientConnectionException
                || H2_PASSING.contains(e.getErrorCode())
                || PASSING_STATES.contains(state)
                || (state.length() == 5 && PASSING_CLASSES.contains(state.substring(0, 2)));
    }
}
