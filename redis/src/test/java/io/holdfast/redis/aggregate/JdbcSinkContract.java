package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.testkit.ChildJvm;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the JDBC sink does, whatever the database. */
abstract class JdbcSinkContract {

    record Page(
            long views,
            int user,
            boolean bot,
            double rate,
            String title,
            Instant lastSeen,
            Duration timeOnPage,
            LocalDate day,
            UUID id,
            DayOfWeek weekday,
            BigDecimal revenue,
            @Nullable Long maybe,
            List<String> tags) {}

    abstract DataSource database();

    /** The same database for another process. */
    abstract String url();

    @BeforeEach
    void dropTables() throws SQLException {
        for (String table : List.of("holdfast_pages", "elsewhere", JdbcSink.tableOf("my-pages"), "holdfast_my_pages")) {
            execute("drop table if exists " + table);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private List<String> query(String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(sql)) {
            while (found.next()) {
                List<String> columns = new ArrayList<>();
                for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
                    columns.add(found.getString(i));
                }
                rows.add(String.join(" ", columns));
            }
        }
        return rows;
    }

    static <T> Flush<T> flush(String key, long epoch, Class<T> type, T value) {
        return flush("pages", key, epoch, type, value);
    }

    private static <T> Flush<T> flush(String set, String key, long epoch, Class<T> type, T value) {
        byte[] bytes = RecordCodec.of(type).encode(value);
        return new Flush<>(set, key, epoch, 77, value, bytes, bytes, new Tally(3, 1_000, 2_000), 2);
    }

    private static Flush<Visit> visit(String key, long epoch, long views) {
        return flush(key, epoch, Visit.class, Visit.of(views));
    }

    @Test
    void componentsOfARecordAreColumns() throws Exception {
        Page page = new Page(
                7,
                3,
                true,
                0.5,
                "Tïtle",
                Instant.ofEpochMilli(5_000),
                Duration.ofSeconds(9),
                LocalDate.of(2026, 1, 2),
                new UUID(1, 2),
                DayOfWeek.FRIDAY,
                new BigDecimal("1.25"),
                null,
                List.of("not a column"));
        JdbcSink.<Page>to(database()).flush(List.of(flush("a", 1, Page.class, page)));
        assertThat(query("select views, user_, title, time_on_page, weekday, maybe, updates, parts, token, bot"
                        + " from holdfast_pages"))
                .singleElement()
                .asString()
                .matches("7 3 Tïtle 9000 FRIDAY null 3 2 77 (t|TRUE|true)");
        assertThat(query("select 1 from holdfast_pages where revenue = 1.25 and rate = 0.5 and first_event < last_event"
                        + " and day_ = date '2026-01-02'"))
                .hasSize(1);
    }

    record Seen(Instant at, @Nullable Instant never, LocalDate day) {}

    /** Just before the hour that New York has twice: local times without a zone are ambiguous then. */
    private static final Seen SEEN =
            new Seen(Instant.parse("2026-11-01T05:30:00.123456Z"), null, LocalDate.of(2026, 11, 1));

    /** Writes one row, and prints what it reads of all rows: {@code KEY AT NEVER FIRST LAST DAY}. */
    static final class InAnotherZone {

        private InAnotherZone() {}

        public static void main(String[] arguments) throws Exception {
            DataSource database = new DriverSource(arguments[0]);
            ChildJvm.sayReady();
            System.in.read();
            JdbcSink.<Seen>to(database).flush(List.of(flush(arguments[1], 1, Seen.class, SEEN)));
            ChildJvm.say("written");
            System.in.read();
            instants(database).forEach(ChildJvm::say);
        }
    }

    static List<String> instants(DataSource database) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select aggregate_key, at, never, first_event, last_event,"
                        + " flushed_at, day_ from holdfast_pages order by 1")) {
            while (row.next()) {
                boolean isNow =
                        Duration.between(row.getObject(6, OffsetDateTime.class).toInstant(), Instant.now())
                                        .abs()
                                        .compareTo(Duration.ofMinutes(10))
                                < 0;
                rows.add(row.getString(1) + " " + row.getTimestamp(2).toInstant() + " " + row.getObject(3) + " "
                        + row.getObject(4, OffsetDateTime.class).toInstant() + " "
                        + row.getTimestamp(5).toInstant() + " " + (isNow ? "now" : row.getString(6)) + " "
                        + row.getObject(7, LocalDate.class));
            }
        }
        return rows;
    }

    @Test
    void instancesInTwoTimeZonesWriteAndReadTheSameInstants() throws Exception {
        try (ChildJvm newYork = child("a", "America/New_York");
                ChildJvm kolkata = child("b", "Asia/Kolkata")) {
            List<ChildJvm> both = List.of(newYork, kolkata);
            both.forEach(child -> child.send(""));
            both.forEach(child -> child.awaitLine("written"::equals));
            String same = "2026-11-01T05:30:00.123456Z null 1970-01-01T00:00:01Z 1970-01-01T00:00:02Z now 2026-11-01";
            assertThat(instants(database())).containsExactly("a " + same, "b " + same);
            for (ChildJvm child : both) {
                child.send("");
                assertThat(child.readLine()).isEqualTo("a " + same);
                assertThat(child.readLine()).isEqualTo("b " + same);
            }
        }
    }

    private ChildJvm child(String key, String zone) {
        return ChildJvm.of(InAnotherZone.class)
                .arguments(url(), key)
                .property("user.timezone", zone)
                .start();
    }

    @Test
    void tableWithTimesWithoutZoneIsRefused() throws Exception {
        execute(JdbcSink.definition("pages", "elsewhere", Visit.of(0), isPostgres())
                .replace("timestamp with time zone", "timestamp"));
        assertThatThrownBy(() -> JdbcSink.<Visit>to(database())
                        .table("elsewhere")
                        .withoutCreating()
                        .flush(List.of(visit("a", 1, 1))))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE))
                .hasMessageContaining("column first_event of table elsewhere has no time zone");
    }

    boolean isPostgres() {
        return false;
    }

    @Test
    void setsWhoseNamesDifferInPunctuationHaveTablesOfTheirOwn() throws Exception {
        JdbcSink<Visit> sink = JdbcSink.to(database());
        sink.flush(List.of(flush("my-pages", "a", 1, Visit.class, Visit.of(1))));
        sink.flush(List.of(flush("my_pages", "a", 1, Visit.class, Visit.of(2))));
        assertThat(query("select set_name, views from holdfast_my_pages")).containsExactly("my_pages 2");
        assertThat(query("select set_name, views from " + JdbcSink.tableOf("my-pages")))
                .containsExactly("my-pages 1");
        assertThat(List.of("my-pages", "my.pages", "my_pages", "My_pages", "m".repeat(64), "m".repeat(63)))
                .extracting(JdbcSink::tableOf)
                .doesNotHaveDuplicates()
                .allMatch(name -> name.length() <= 63);
    }

    @Test
    void tableOfAnotherSetIsRefusedByOneClearError() throws Exception {
        JdbcSink<Visit> sink = JdbcSink.<Visit>to(database()).table("elsewhere");
        sink.flush(List.of(visit("a", 1, 1)));
        assertThatThrownBy(() -> JdbcSink.<Visit>to(database())
                        .table("Elsewhere")
                        .flush(List.of(flush("others", "b", 1, Visit.class, Visit.of(2)))))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE))
                .hasMessageContaining("belongs to another set than 'others'");
        sink.flush(List.of(visit("c", 1, 3)));
        assertThat(query("select set_name, aggregate_key from elsewhere order by 2"))
                .containsExactly("pages a", "pages c");
    }

    @Test
    void rowOfAnotherSetIsNotTakenForTheSameFlush() throws Exception {
        String unchecked = JdbcSink.definition("pages", "elsewhere", Visit.of(0), isPostgres())
                .replaceFirst(", constraint \\S+ check \\([^)]*\\)", "");
        execute(unchecked);
        JdbcSink<Visit> sink = JdbcSink.<Visit>to(database()).table("elsewhere").withoutCreating();
        sink.flush(List.of(visit("a", 1, 1)));
        Flush<Visit> other = flush("others", "a", 1, Visit.class, Visit.of(1));
        sink.flush(List.of(other));
        assertThat(other.refusal()).contains("has a row of set 'pages' for this key and epoch");
    }

    @Test
    void lostConnectionIsARetryThoughRollbackAndCloseFailToo() {
        BrokenSource broken = new BrokenSource(database());
        JdbcSink<Visit> sink = JdbcSink.to(broken);
        sink.flush(List.of(visit("a", 1, 1)));
        broken.failing("executeBatch", new SQLException("terminating connection", "57P01"));
        broken.failing("rollback", new SQLException("Connection is closed"));
        broken.failing("close", new SQLException("Connection is closed"));
        assertThatThrownBy(() -> sink.flush(List.of(visit("a", 2, 2))))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue())
                .hasMessageContaining("terminating connection");
    }

    @Test
    void connectionThatIsLostWhileRowsAreComparedIsARetry() {
        BrokenSource broken = new BrokenSource(database());
        JdbcSink<Visit> sink = JdbcSink.to(broken);
        sink.flush(List.of(visit("a", 1, 1)));
        broken.failing("rollback", new SQLException("Connection is closed"));
        assertThatThrownBy(() -> sink.flush(List.of(visit("a", 1, 1), visit("b", 1, 2))))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
    }

    @Test
    void flushThatIsCommittedHasSucceededThoughCloseFails() throws Exception {
        BrokenSource broken = new BrokenSource(database());
        broken.failing("close", new SQLException("Connection is closed"));
        JdbcSink.<Visit>to(broken).flush(List.of(visit("a", 1, 1)));
        assertThat(query("select views from holdfast_pages")).containsExactly("1");
    }

    @Test
    void sameFlushAgainIsOneRow() throws Exception {
        JdbcSink<Visit> sink = JdbcSink.to(database());
        sink.flush(List.of(visit("a", 1, 5)));
        sink.flush(List.of(visit("a", 1, 5), visit("b", 1, 6), visit("a", 2, 7)));
        assertThat(query("select aggregate_key, epoch, views from holdfast_pages order by 1, 2"))
                .containsExactly("a 1 5", "a 2 7", "b 1 6");
    }

    @Test
    void anotherValueForTheSameEpochIsRefusedAndOverwritesNothing() throws Exception {
        JdbcSink<Visit> sink = JdbcSink.to(database());
        sink.flush(List.of(visit("a", 1, 5)));
        Flush<Visit> other = visit("a", 1, 6);
        Flush<Visit> neighbour = visit("b", 1, 7);
        sink.flush(List.of(other, neighbour));
        assertThat(other.refusal()).contains("has another value for this key and epoch");
        assertThat(neighbour.refusal()).isNull();
        assertThat(query("select views from holdfast_pages order by 1")).containsExactly("5", "7");
    }

    @Test
    void valuesThatAreNoRecordsAreBytesAlone() throws Exception {
        JdbcSink.<Long>to(database()).table("elsewhere").flush(List.of(flush("a", 1, Long.class, 9L)));
        assertThat(query("select aggregate_key, updates from elsewhere")).containsExactly("a 3");
    }

    @Test
    void tableThatDoesNotFitIsNoReasonToRetryForEver() throws Exception {
        execute("create table elsewhere (aggregate_key varchar(10))");
        assertThatThrownBy(
                        () -> JdbcSink.<Visit>to(database()).table("elsewhere").flush(List.of(visit("a", 1, 1))))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE));
        assertThatThrownBy(
                        () -> JdbcSink.<Visit>to(database()).withoutCreating().flush(List.of(visit("a", 1, 1))))
                .isInstanceOf(HoldfastException.class);
    }

    @Test
    void tableThatWasDroppedIsMadeAgain() throws Exception {
        JdbcSink<Visit> sink = JdbcSink.to(database());
        sink.flush(List.of(visit("a", 1, 1)));
        execute("drop table holdfast_pages");
        assertThatThrownBy(() -> sink.flush(List.of(visit("a", 2, 2)))).isInstanceOf(HoldfastException.class);
        sink.flush(List.of(visit("a", 2, 2)));
        assertThat(query("select views from holdfast_pages")).containsExactly("2");
    }

    @Test
    void tableNamesAreChecked() {
        assertThatThrownBy(() -> JdbcSink.to(database()).table("x; drop table y"))
                .hasMessageContaining("the table name");
    }
}
