package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.HoldfastException;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

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

    @Override
    String url() {
        return server.getJdbcUrl("postgres", "postgres");
    }

    @Override
    boolean isPostgres() {
        return true;
    }

    @Test
    void backendsThatTheServerEndsAreRetriesOfAPool() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setDataSource(server.getPostgresDatabase());
        config.setMaximumPoolSize(1);
        try (HikariDataSource pool = new HikariDataSource(config)) {
            JdbcSink<Visit> sink = JdbcSink.to(pool);
            sink.flush(List.of(flush("a", 1, Visit.class, Visit.of(1))));
            int pid;
            try (Connection connection = pool.getConnection()) {
                pid = connection.unwrap(PGConnection.class).getBackendPID();
            }
            terminate(pid);
            assertThatThrownBy(() -> sink.flush(List.of(flush("a", 2, Visit.class, Visit.of(1)))))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.isRetryable()).isTrue());
            sink.flush(List.of(flush("a", 2, Visit.class, Visit.of(1))));
        }
    }

    private static void terminate(int pid) throws Exception {
        try (Connection other = server.getPostgresDatabase().getConnection();
                var kill = other.createStatement()) {
            kill.execute("select pg_terminate_backend(" + pid + ", 10000)");
        }
    }

    @Test
    void connectionThatTheServerEndsIsARetry() throws Exception {
        try (Connection connection = server.getPostgresDatabase().getConnection()) {
            DataSource same = new SameConnection(connection);
            JdbcSink<Visit> sink = JdbcSink.to(same);
            sink.flush(List.of(flush("a", 1, Visit.class, Visit.of(1))));
            terminate(connection.unwrap(PGConnection.class).getBackendPID());
            assertThatThrownBy(() -> sink.flush(List.of(flush("a", 2, Visit.class, Visit.of(1)))))
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            e -> assertThat(e.isRetryable()).isTrue());
        }
    }
}
