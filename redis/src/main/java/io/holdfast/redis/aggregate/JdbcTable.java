package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.redis.link.Keyspace;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** The table of one set: its name, its definition, and the statements on it. */
record JdbcTable(String name, String set, JdbcColumns columns) {

    /** What the names of the constraints begin with that keep a table to one set. */
    static final String CONSTRAINT = "holdfast_set_";

    private static final String PREFIX = "holdfast_";
    /** PostgreSQL cuts longer names off without a word. */
    private static final int NAME_MAX = 63;

    private static final int DIGITS = 8;

    private static final Pattern PLAIN = Pattern.compile("[a-z0-9_]{1," + (NAME_MAX - PREFIX.length()) + "}");
    private static final Set<String> CHECKED_FOR_ZONES = Set.of("PostgreSQL", "H2");
    private static final String OWN = "set_name, aggregate_key, epoch, token, updates, parts, first_event, last_event,"
            + " flushed_at, digest, value_bytes";
    private static final int OWN_COUNT = 11;

    JdbcTable {
        checkSet(set);
    }

    private static void checkSet(String set) {
        new Keyspace("aggregate", set, 0);
    }

    static String nameFor(String set) {
        checkSet(set);
        if (PLAIN.matcher(set).matches()) {
            return PREFIX + set;
        }
        String plain = set.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_");
        int room = NAME_MAX - PREFIX.length() - DIGITS - 1;
        return PREFIX + plain.substring(0, Math.min(room, plain.length())) + "_" + digits(set);
    }

    private static String digits(String text) {
        return HexFormat.of().formatHex(Digest.of(text.getBytes(UTF_8))).substring(0, DIGITS);
    }

    /** The names of sets have no quotes. */
    String definition(boolean postgres) {
        return "create table if not exists " + name + " (set_name varchar(64) not null, "
                + "aggregate_key varchar(512) not null, epoch bigint not null, "
                + "token bigint not null, updates bigint not null, parts integer not null, "
                + "first_event timestamp with time zone, last_event timestamp with time zone, "
                + "flushed_at timestamp with time zone not null, "
                + "digest varchar(32) not null, value_bytes " + (postgres ? "bytea" : "varbinary(1000000)")
                + " not null"
                + columns.definitions(postgres)
                + ", primary key (aggregate_key, epoch), constraint "
                + CONSTRAINT + digits(name.toLowerCase(Locale.ROOT)) + " check (set_name = '" + set + "'))";
    }

    void make(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(definition(product(connection).equals("PostgreSQL")));
        }
    }

    private static String product(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName();
    }

    /**
     * Checks a table that this process has not made.
     *
     * @throws HoldfastException MISUSE if a time has no zone: instances in two zones would write different local times
     * @throws SQLException if the table or a column is not there
     */
    void inspect(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet none =
                        statement.executeQuery("select " + OWN + columns.names() + " from " + name + " where 1 = 0")) {
            if (!CHECKED_FOR_ZONES.contains(product(connection))) {
                return;
            }
            ResultSetMetaData found = none.getMetaData();
            for (int i = 1; i <= found.getColumnCount(); i++) {
                if (found.getColumnTypeName(i).equalsIgnoreCase("timestamp")) {
                    String column = found.getColumnName(i).toLowerCase(Locale.ROOT);
                    throw HoldfastException.misuse(
                            "column " + column + " of table " + name + " has no time zone",
                            "make it 'timestamp with time zone', as JdbcSink.definition says");
                }
            }
        }
    }

    String insertion() {
        return "insert into " + name + " (" + OWN + columns.names() + ") values (?"
                + ", ?".repeat(OWN_COUNT - 1 + columns.count()) + ")";
    }

    /** Set and digest of the row of a key and an epoch. */
    String selection() {
        return "select set_name, digest from " + name + " where aggregate_key = ? and epoch = ?";
    }

    void bind(PreparedStatement insert, Flush<?> flush) throws SQLException {
        insert.setString(1, flush.set());
        insert.setString(2, flush.key());
        insert.setLong(3, flush.epoch());
        insert.setLong(4, flush.token());
        insert.setLong(5, flush.updates());
        insert.setInt(6, flush.parts());
        bind(insert, 7, flush.firstEvent());
        bind(insert, 8, flush.lastEvent());
        bind(insert, 9, Optional.of(Instant.now()));
        insert.setString(10, flush.digest());
        insert.setBytes(11, flush.bytes());
        columns.bind(insert, OWN_COUNT + 1, flush.value());
    }

    private static void bind(PreparedStatement insert, int index, Optional<Instant> time) throws SQLException {
        if (time.isPresent()) {
            bind(insert, index, time.get());
        } else {
            insert.setNull(index, Types.TIMESTAMP_WITH_TIMEZONE);
        }
    }

    /** With its zone: a driver turns a {@link java.sql.Timestamp} into the local time of its process. */
    static void bind(PreparedStatement insert, int index, Instant instant) throws SQLException {
        insert.setObject(index, instant.atOffset(ZoneOffset.UTC));
    }
}
