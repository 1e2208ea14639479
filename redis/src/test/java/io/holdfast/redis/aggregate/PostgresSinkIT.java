package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PostgresSinkIT extends JdbcSinkContract {

    private static EmbeddedPostgres server;

    @BeforeAll
    static void start() throws Exception {
        server = EmbeddedPostgres.builder().setServerConfig("fsync", "off").start();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Override
    DataSource database() {
        return server.getPostgresDatabase();
    }

    @Test
    void connectionThatTheServerEndsIsARetry() throws Exception {
        try (Connection connection = server.getPostgresDatabase().getConnection()) {
            DataSource same = new SameConnection(connection);
            JdbcSink<Visit> sink = JdbcSink.to(same);
            sink.flush(List.of(flush("a", 1, Visit.class, Visit.of(1))));
            int pid = connection.unwrap(org.postgresql.PGConnection.class).getBackendPID();
            try (Connection other = server.getPostgresDatabase().getConnection();
                    var kill = other.createStatement()) {
                kill.execute("select pg_terminate_backend(" + pid + ")");
            }
            assertThatThrownBy(() -> sink.flush(List.of(flush("a", 2, Visit.class, Visit.of(1)))))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.isRetryable()).isTrue());
        }
    }
}
