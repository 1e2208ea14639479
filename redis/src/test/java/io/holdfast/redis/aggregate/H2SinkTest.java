package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import java.util.List;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.h2.tools.Server;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class H2SinkTest extends JdbcSinkContract {

    private static final JdbcDataSource DATABASE = new JdbcDataSource();
    private static Server server;

    static {
        DATABASE.setURL("jdbc:h2:mem:sink;DB_CLOSE_DELAY=-1");
    }

    @BeforeAll
    static void listen() throws Exception {
        server = Server.createTcpServer("-tcpPort", "0").start();
    }

    @AfterAll
    static void stop() {
        server.stop();
    }

    @Override
    DataSource database() {
        return DATABASE;
    }

    @Override
    String url() {
        return "jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/mem:sink";
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
