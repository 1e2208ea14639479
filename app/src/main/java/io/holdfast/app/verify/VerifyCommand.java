package io.holdfast.app.verify;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.PhaseBars;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.StorageNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** All invariants of all parts. */
@Command(
        name = "verify",
        description = {
            "Check the invariants of all parts while they are in use. Changes nothing.",
            "Counts of graphs against their holds, sessions and aggregates against their index and leases, storage"
                    + " nodes, caches. Without names: everything that is on the Redis.",
            "Exit code 1 if something is wrong, 4 if a part could not be looked at.",
        },
        footer = {
            "  holdfast verify",
            "  holdfast verify --graph docs --sessions rooms",
            "  holdfast verify --nodes /srv/n1,/srv/n2 --cache /dev/shm/pages",
        })
public final class VerifyCommand extends CliCommand {

    @Mixin
    private RedisOption redis = new RedisOption();

    @Option(names = "--graph", paramLabel = "NAME", split = ",", description = "Only these graphs.")
    private List<String> graphs = new ArrayList<>();

    @Option(names = "--sessions", paramLabel = "NAME", split = ",", description = "Only these sets of sessions.")
    private List<String> sessions = new ArrayList<>();

    @Option(names = "--aggregates", paramLabel = "NAME", split = ",", description = "Only these sets of aggregates.")
    private List<String> aggregates = new ArrayList<>();

    @Option(names = "--nodes", paramLabel = "FOLDER", split = ",", description = "Folders of storage nodes.")
    private List<Path> nodes = new ArrayList<>();

    @Option(names = "--cache", paramLabel = "FILE", split = ",", description = "Files of slab caches.")
    private List<Path> caches = new ArrayList<>();

    @Override
    protected Answer run(Console console) throws Exception {
        SystemVerify verify;
        try (PhaseBars bars = new PhaseBars(console)) {
            verify = new SystemVerify(redis.uri(), bars);
            boolean named = !graphs.isEmpty() || !sessions.isEmpty() || !aggregates.isEmpty();
            boolean elsewhere = !nodes.isEmpty() || !caches.isEmpty();
            if (!named && !elsewhere) {
                verify.everythingOnRedis();
            }
            graphs.forEach(verify::graph);
            sessions.forEach(name -> verify.holds(ThingId.Kind.SESSION, name));
            aggregates.forEach(name -> verify.holds(ThingId.Kind.AGGREGATE, name));
            for (Path folder : nodes) {
                try (StorageNode node = StorageNode.at(
                                folder, NodeBuilder.nameOf(folder).name())
                        .settings(Settings.ofProcess())
                        .open()) {
                    verify.node(node);
                }
            }
            caches.forEach(verify::cache);
        }
        return answer(verify.parts());
    }

    static Answer answer(List<SystemVerify.Part> parts) {
        long findings = parts.stream().mapToLong(part -> part.findings().size()).sum();
        List<String> failed = parts.stream()
                .filter(part -> !part.failure().isEmpty())
                .map(SystemVerify.Part::part)
                .toList();
        Answer answer = findings > 0
                ? Answer.finding()
                : failed.isEmpty()
                        ? Answer.ok()
                        : Answer.failed(new HoldfastException(
                                HoldfastException.Category.RETRY, "no verdict on " + String.join(", ", failed)));
        Table table = Table.of("part", "verdict", "looked");
        Table list = Table.of("part", "finding");
        for (SystemVerify.Part part : parts) {
            String verdict = !part.failure().isEmpty()
                    ? "no verdict: " + part.failure()
                    : part.isSound() ? "sound" : part.findings().size() + " findings";
            table.row(part.part(), verdict, part.looked());
            part.findings().forEach(finding -> list.row(part.part(), finding));
        }
        answer.table("parts", table).field("sound", findings == 0 && failed.isEmpty());
        if (list.size() > 0) {
            answer.line("").table("findings", list);
        } else {
            answer.field("findings", List.of());
        }
        if (parts.isEmpty()) {
            answer.line("there is nothing of Holdfast here");
        }
        return answer;
    }
}
