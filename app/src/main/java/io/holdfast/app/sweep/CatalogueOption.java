package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.catalogue.IdForm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code --catalogue} and what belongs to it. */
public final class CatalogueOption {

    private static final String GRAPH = "graph:";

    @Option(
            names = "--catalogue",
            paramLabel = "WHERE",
            required = true,
            description = "A catalogue file (CSV or binary), a JDBC URL, or graph:NAME for a value graph on --redis.")
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

    @Mixin
    private RedisOption redis = new RedisOption();

    private @Nullable DatabaseCatalogue database;
    private @Nullable Holdfast holdfast;

    /** Uses the catalogue, and closes what is behind it. */
    interface Use<T> {
        T with(Catalogue catalogue) throws Exception;
    }

    <T> T use(Use<T> use) throws Exception {
        try {
            return use.with(open());
        } finally {
            DatabaseCatalogue opened = database;
            if (opened != null) {
                opened.close();
            }
            Holdfast client = holdfast;
            if (client != null) {
                client.close();
            }
        }
    }

    private Catalogue openGraph(String name) {
        Addressing addressing;
        try (RedisLink link = redis.link()) {
            addressing = ValueGraph.existing(link, name)
                    .orElseThrow(() -> new HoldfastException(
                            HoldfastException.Category.GONE,
                            "there is no graph " + name,
                            "check the name and --redis",
                            null));
        }
        Holdfast client = Holdfast.builder()
                .uri(redis.uri())
                .passive()
                .set(GraphSettings.ADDRESSING, addressing)
                .open();
        holdfast = client;
        return GraphCatalogue.of(client.graph(name));
    }

    private Catalogue open() throws IOException {
        if (where.startsWith(GRAPH)) {
            return openGraph(where.substring(GRAPH.length()));
        }
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
        DatabaseCatalogue opened = DatabaseCatalogue.open(
                where, query, owner, ids, Optional.ofNullable(incarnation), Settings.ofProcess());
        database = opened;
        return opened.catalogue();
    }
}
