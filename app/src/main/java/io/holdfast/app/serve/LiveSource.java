package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.sweep.DatabaseCatalogue;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.catalogue.FileCatalogue;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** What the daemon's sweep asks which pieces are live, as the settings name it. */
record LiveSource(Catalogue catalogue, Runnable closing) implements AutoCloseable {

    private static final String GRAPH = "graph:";

    static LiveSource open(Settings settings, RedisPart redis) throws IOException {
        String where = settings.get(ServeSettings.CATALOGUE);
        if (where.startsWith(GRAPH)) {
            return new LiveSource(GraphCatalogue.of(redis.client().graph(where.substring(GRAPH.length()))), () -> {});
        }
        if (!DatabaseCatalogue.isUrl(where)) {
            return new LiveSource(FileCatalogue.of(Path.of(where)), () -> {});
        }
        String query = settings.get(ServeSettings.QUERY);
        if (query.isEmpty()) {
            throw HoldfastException.misuse(
                    "serve.sweep.catalogue is a JDBC URL and serve.sweep.query is not set",
                    "set serve.sweep.query = select node, id, created from …");
        }
        String incarnation = settings.get(ServeSettings.INCARNATION);
        DatabaseCatalogue database = DatabaseCatalogue.open(
                where,
                query,
                settings.get(ServeSettings.WHOSE),
                settings.get(ServeSettings.IDS),
                incarnation.isEmpty() ? Optional.empty() : Optional.of(incarnation),
                settings);
        return new LiveSource(database.catalogue(), database::close);
    }

    @Override
    public void close() {
        closing.run();
    }
}
