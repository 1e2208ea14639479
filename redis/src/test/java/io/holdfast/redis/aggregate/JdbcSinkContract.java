package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
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

    @BeforeEach
    void dropTables() throws SQLException {
        execute("drop table if exists holdfast_pages");
        execute("drop table if exists elsewhere");
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
        byte[] bytes = RecordCodec.of(type).encode(value);
        return new Flush<>("pages", key, epoch, 77, value, bytes, new Tally(3, 1_000, 2_000), 2);
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
