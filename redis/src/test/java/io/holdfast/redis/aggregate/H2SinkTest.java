package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import java.util.List;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

class H2SinkTest extends JdbcSinkContract {

    private static final JdbcDataSource DATABASE = new JdbcDataSource();

    static {
        DATABASE.setURL("jdbc:h2:mem:sink;DB_CLOSE_DELAY=-1");
    }

    @Override
    DataSource database() {
        return DATABASE;
    }

    @Test
    void databaseThatIsNotThereIsARetry() {
        JdbcDataSource nowhere = new JdbcDataSource();
        nowhere.setURL("jdbc:h2:tcp://127.0.0.1:1/nowhere");
        assertThatThrownBy(() -> JdbcSink.<Visit>to(nowhere).flush(List.of(flush("a", 1, Visit.class, Visit.of(1)))))
                .isInstanceOfSatisfying(
                        HoldfastException.class,
                        e -> assertThat(e.isRetryable()).isTrue());
    }
}
