package io.holdfast.app.sweep;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.catalogue.IdForm;
import io.holdfast.sweep.catalogue.JdbcCatalogue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** {@code --catalogue} and what belongs to it. */
public final class CatalogueOption {

    private static final int RANGES = 4;

    @Option(
            names = "--catalogue",
            paramLabel = "WHERE",
            required = true,
            description = "A catalogue file (CSV or binary), or a JDBC URL.")
    private String where = "";

    @Option(
            names = "--query",
            paramLabel = "SQL",
            description = "For a JDBC URL: a SELECT that yields node, id, created of every live piece.")
    private @Nullable String query;

    @Option(names = "--owner", paramLabel = "NAME", description = "For a JDBC URL: whose pieces they are.")
    private String owner = "default";

    @Option(
            names = "--ids",
            paramLabel = "FORM",
            description = "For a JDBC URL: how ids are written: ${COMPLETION-CANDIDATES}. Default bytes.")
    private IdForm ids = IdForm.BYTES;

    @Option(
            names = "--incarnation",
            paramLabel = "SQL",
            description = "For a JDBC URL: a SELECT of a text that changes when the database is restored.")
    private @Nullable String incarnation;

    private @Nullable HikariDataSource pool;

    /** Uses the catalogue, and closes what is behind it. */
    interface Use<T> {
        T with(Catalogue catalogue) throws Exception;
    }

    <T> T use(Use<T> use) throws Exception {
        try {
            return use.with(open());
        } finally {
            HikariDataSource opened = pool;
            if (opened != null) {
                opened.close();
            }
        }
    }

    private Catalogue open() throws IOException {
        if (!where.startsWith("jdbc:")) {
            Path file = Path.of(where);
            if (!Files.isRegularFile(file)) {
                throw new HoldfastException(
                        HoldfastException.Category.GONE,
                        "there is no catalogue file " + where,
                        "name a catalogue file, or a JDBC URL with --query",
                        null);
            }
            return FileCatalogue.of(file);
        }
        if (query == null) {
            throw HoldfastException.misuse(
                    "a JDBC catalogue without --query", "add --query 'select node, id, created from …'");
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(where);
        config.setMaximumPoolSize(RANGES + 2);
        HikariDataSource opened = new HikariDataSource(config);
        pool = opened;
        JdbcCatalogue catalogue =
                JdbcCatalogue.of(opened, query).owner(owner).idForm(ids).ranges(RANGES);
        return incarnation == null ? catalogue : catalogue.incarnation(incarnation);
    }
}
