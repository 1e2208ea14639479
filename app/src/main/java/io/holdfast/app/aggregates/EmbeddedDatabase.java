package io.holdfast.app.aggregates;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.HoldfastException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where aggregates go when nobody names a database: an H2 file, which other processes of the host may open at the same time. */
public final class EmbeddedDatabase {

    private EmbeddedDatabase() {}

    /** A pool of connections to the database in the given folder, which is made if it is not there. */
    public static HikariDataSource in(Path folder) {
        if (Files.exists(folder) && !Files.isDirectory(folder)) {
            throw HoldfastException.misuse("'" + folder + "' is no folder", "name a folder for the database");
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:file:" + folder.toAbsolutePath().resolve("aggregates") + ";AUTO_SERVER=TRUE");
        config.setMaximumPoolSize(4);
        config.setPoolName("holdfast-aggregates");
        return new HikariDataSource(config);
    }
}
