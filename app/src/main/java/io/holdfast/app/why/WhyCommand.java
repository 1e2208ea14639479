package io.holdfast.app.why;

import io.holdfast.HoldfastException;
import io.holdfast.Reclaimed;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.Why;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Progress;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.app.sweep.FleetOption;
import io.holdfast.app.sweep.PieceWhy;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.sweep.catalogue.FileCatalogue;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.StorageNode;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Why is this alive, or why is it gone? */
@Command(
        name = "why",
        description = {
            "Say why a thing is still there, with the chain of holders and their deadlines, or why it is gone.",
            "Values do not know who holds them: asking for one walks the graph from its roots and leases.",
            "Exit code 3 if nothing is known of it.",
        },
        footer = {
            "  holdfast why root:docs/main",
            "  holdfast why value:docs/01a1e10f3d49f66afc24422a310de14b",
            "  holdfast why session:rooms/lobby",
            "  holdfast why aggregate:visits/index.html",
            "  holdfast why piece:n1/syqqlf5dz3popgezwsy2kbuapdt2yroxjcpxz3vwsob5wipteksq --nodes /srv/n1 --catalogue"
                    + " pieces.csv",
            "  holdfast why piece:n1/syqqlf5dz3popgezwsy2kbuapdt2yroxjcpxz3vwsob5wipteksq --nodes /srv/n1 --catalogue"
                    + " graph:photos",
        })
public final class WhyCommand extends CliCommand {

    private static final String GRAPH = "graph:";

    @Parameters(
            paramLabel = "KIND:ID",
            description = {
                "value:GRAPH/ID, root:GRAPH/NAME, lease:GRAPH/HOLDER,",
                "graph:NAME/INCARNATION, session:SET/ID,",
                "aggregate:SET/KEY or piece:NODE/ID.",
            })
    private ThingId thing = new ThingId(ThingId.Kind.ROOT, "graph", "name");

    @Mixin
    private RedisOption redis = new RedisOption();

    @Option(
            names = "--nodes",
            paramLabel = "FOLDER",
            split = ",",
            description = "For a piece: the folders of the storage nodes.")
    private List<Path> nodes = new ArrayList<>();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    @Option(
            names = "--catalogue",
            paramLabel = "WHERE",
            description = "For a piece: a catalogue file, or graph:NAME, to ask as well.")
    private @Nullable String catalogue;

    @Override
    protected Answer run(Console console) throws Exception {
        String where = catalogue;
        boolean namedByGraph = where != null && where.startsWith(GRAPH);
        if (thing.kind() == ThingId.Kind.PIECE && !namedByGraph) {
            return PieceWhy.answer(
                    thing,
                    nodes,
                    fleet,
                    where == null ? Optional.empty() : Optional.of(FileCatalogue.of(Path.of(where))));
        }
        String space = where != null && namedByGraph ? where.substring(GRAPH.length()) : thing.space();
        Optional<Addressing> addressing;
        try (RedisLink link = redis.link()) {
            addressing = ValueGraph.existing(link, space);
        }
        if (namedByGraph && addressing.isEmpty()) {
            throw new HoldfastException(
                    HoldfastException.Category.GONE, "there is no graph " + space, "check the name and --redis", null);
        }
        List<StorageNode> open = new ArrayList<>();
        try (Holdfast holdfast = Holdfast.builder()
                        .uri(redis.uri())
                        .passive()
                        .set(GraphSettings.ADDRESSING, addressing.orElse(GraphSettings.ADDRESSING.defaultValue()))
                        .open();
                Progress progress = console.progress("walking", 1)) {
            long[] shown = {0};
            Whys whys = new Whys(holdfast);
            if (namedByGraph) {
                for (Path folder : nodes) {
                    open.add(StorageNode.at(folder, NodeBuilder.nameOf(folder).name())
                            .settings(Settings.ofProcess())
                            .open());
                }
                whys.nodes(open).catalogue(GraphCatalogue.of(holdfast.graph(space)));
            }
            return answer(whys.progress((phase, done, total) -> {
                        progress.total(total);
                        progress.step(done - shown[0]);
                        shown[0] = done;
                    })
                    .ask(thing));
        } finally {
            for (StorageNode node : open) {
                node.close();
            }
        }
    }

    /** The same form for every kind of thing. */
    public static Answer answer(Why why) {
        Answer answer = why instanceof Why.Unknown unknown
                ? Answer.failed(new HoldfastException(
                        HoldfastException.Category.GONE, unknown.thing() + ": " + unknown.detail()))
                : Answer.ok();
        answer.field("thing", why.thing().toString());
        lines(why).forEach(answer::line);
        return switch (why) {
            case Why.Alive alive ->
                answer.field("state", "alive")
                        .field("detail", alive.detail())
                        .field(
                                "chain",
                                alive.chain().stream().map(WhyCommand::json).toList());
            case Why.Doomed doomed -> answer.field("state", "doomed").field("detail", doomed.detail());
            case Why.Gone gone ->
                answer.field("state", "gone")
                        .field("reason", gone.record().reason())
                        .field("evidence", gone.record().evidence())
                        .field("at", gone.record().at())
                        .field("by", gone.record().by().toString());
            case Why.Unknown unknown -> answer.field("state", "unknown").field("detail", unknown.detail());
        };
    }

    /** The answer for people. */
    public static List<String> lines(Why why) {
        List<String> lines = new ArrayList<>();
        switch (why) {
            case Why.Alive alive -> {
                lines.add(why.thing() + " is alive: " + alive.detail());
                alive.chain().forEach(holder -> lines.add("  held by " + holder.name() + until(holder)));
            }
            case Why.Doomed doomed -> lines.add(why.thing() + " is doomed: " + doomed.detail());
            case Why.Gone gone -> {
                Reclaimed record = gone.record();
                lines.add(why.thing() + " is gone: " + record.reason().name().toLowerCase(Locale.ROOT) + ", "
                        + record.evidence());
                lines.add("  at " + record.at() + " by " + record.by());
            }
            case Why.Unknown unknown -> lines.add(why.thing() + " is unknown: " + unknown.detail());
        }
        return lines;
    }

    private static String until(Why.Holder holder) {
        if (holder.deadline().isEmpty()) {
            return "";
        }
        Instant deadline = holder.deadline().get();
        Duration left = Duration.between(Instant.now(), deadline);
        return left.isNegative() ? ", which lapsed at " + deadline : ", lapses in " + shortly(left) + " unless renewed";
    }

    private static String shortly(Duration left) {
        return Setting.text(
                left.compareTo(Duration.ofSeconds(10)) < 0
                        ? Duration.ofMillis(left.toMillis())
                        : Duration.ofSeconds(left.toSeconds()));
    }

    private static Map<String, @Nullable Object> json(Why.Holder holder) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("holder", holder.name());
        fields.put("deadline", holder.deadline().orElse(null));
        return fields;
    }
}
