package io.holdfast.app.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.link.RedisLink;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** A command about one graph. It is opened for the command and closed after it; only some commands may make one. */
abstract class OneGraphCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "NAME", description = "The graph.")
    private String name = "";

    @Mixin
    private RedisOption redis = new RedisOption();

    abstract Answer run(ValueGraph graph, Console console) throws Exception;

    /** How a graph is made if there is none; empty: it is not made, and the command says that there is none. */
    Optional<Addressing> makes() {
        return Optional.empty();
    }

    /** How the caller wants ids to be made; a graph that makes them in another way is refused. */
    Optional<Addressing> asked() {
        return Optional.empty();
    }

    /** What can fail without the graph, and so is done before one is made. */
    void prepare() throws IOException {}

    @Override
    protected final Answer run(Console console) throws Exception {
        prepare();
        Addressing addressing = existing().or(this::makes).orElseThrow(this::noGraph);
        if (asked().isPresent() && asked().get() != addressing) {
            throw HoldfastException.misuse(
                    "graph " + name + " makes its ids by " + addressing.name().toLowerCase(Locale.ROOT)
                            + ", which is fixed for its life",
                    "leave out --addressing, or use another graph");
        }
        try (Holdfast holdfast = Holdfast.builder()
                .uri(redis.uri())
                .set(GraphSettings.ADDRESSING, addressing)
                .open()) {
            return run(holdfast.graph(name), console);
        }
    }

    private Optional<Addressing> existing() {
        try (RedisLink link = redis.link()) {
            return ValueGraph.existing(link, name);
        }
    }

    private HoldfastException noGraph() {
        return new HoldfastException(
                Category.GONE,
                "there is no graph " + name,
                "check the name and --redis; 'put' and 'import' make one",
                null);
    }

    static HoldfastException noRoot(ValueGraph graph, String root) {
        return new HoldfastException(
                Category.GONE,
                "there is no root " + root + " in graph " + graph.name(),
                "list the roots by 'holdfast graph root " + graph.name() + "'",
                null);
    }
}
