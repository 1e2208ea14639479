package io.holdfast.app.sweep;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.pool.HikariPool;
import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.IdForm;
import io.holdfast.sweep.catalogue.JdbcCatalogue;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Optional;

/** A catalogue in a database that is named by a JDBC URL, and the connections to it. */
public record DatabaseCatalogue(Catalogue catalogue, HikariDataSource pool) implements AutoCloseable {

    private static final int RANGES_MOST = 64;

    /** Whether that is a JDBC URL. */
    public static boolean isUrl(String where) {
        return where.startsWith("jdbc:");
    }

    /**
     * @param query a SELECT that yields node, id, created of every live piece
     * @param incarnation a SELECT of a text that changes when the database is restored; PostgreSQL has one built in
     */
    public static DatabaseCatalogue open(
            String where, String query, String owner, IdForm ids, Optional<String> incarnation, Settings settings) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(where);
        int ranges = ranges(settings);
        config.setMaximumPoolSize(ranges + 2);
        HikariDataSource pool = connect(where, config);
        JdbcCatalogue catalogue =
                JdbcCatalogue.of(pool, query).owner(owner).idForm(ids).ranges(ranges);
        return new DatabaseCatalogue(incarnation.map(catalogue::incarnation).orElse(catalogue), pool);
    }

    /** A wrong URL and a database that is away are told apart: the first is not worth another try. */
    private static HikariDataSource connect(String where, HikariConfig config) {
        try {
            DriverManager.getDriver(where);
        } catch (SQLException _) {
            throw HoldfastException.misuse(
                    "no JDBC driver understands " + withoutSecrets(where),
                    "write jdbc:postgresql://HOST/DATABASE or jdbc:h2:FILE, or put the driver on the class path");
        }
        try {
            return new HikariDataSource(config);
        } catch (HikariPool.PoolInitializationException e) {
            throw new HoldfastException(
                    HoldfastException.Category.RETRY,
                    "the database " + withoutSecrets(where) + " cannot be reached: " + rootMessage(e),
                    "see that it runs and that user and password are right, and try again",
                    e);
        }
    }

    private static String withoutSecrets(String url) {
        return url.replaceAll("[?;].*", "").replaceAll("//[^/@]*@", "//***@");
    }

    private static String rootMessage(Throwable failure) {
        Throwable at = failure;
        while (at.getCause() != null) {
            at = at.getCause();
        }
        return String.valueOf(at.getMessage());
    }

    /** As many ranges as there are threads to read them. */
    private static int ranges(Settings settings) {
        int scanners = settings.get(SweepSettings.SCANNERS);
        int wanted = scanners == 0 ? Runtime.getRuntime().availableProcessors() : scanners;
        return Math.min(RANGES_MOST, wanted);
    }

    @Override
    public void close() {
        pool.close();
    }
}
