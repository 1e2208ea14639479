package io.holdfast.app.verify;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.app.cache.CacheAudit;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.graph.Addressing;
import io.holdfast.redis.graph.GraphProgress;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.VerifyReport;
import io.holdfast.redis.hold.HoldVerifier;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.slab.AuditReport;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.StorageNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Checks the invariants of all parts against a system in full use, and changes nothing. A part that cannot be looked at is
 * reported as such, and the others are looked at all the same.
 */
public final class SystemVerify {

    /**
     * What was found in one part.
     *
     * @param looked what was looked at, for people
     * @param failure why there is no verdict; empty if there is one
     */
    public record Part(String part, String looked, List<String> findings, String failure) {

        public boolean isSound() {
            return findings.isEmpty() && failure.isEmpty();
        }
    }

    private final String uri;
    private final GraphProgress progress;
    private final List<Part> parts = new ArrayList<>();

    public SystemVerify(String uri, GraphProgress progress) {
        this.uri = uri;
        this.progress = progress;
    }

    public List<Part> parts() {
        return List.copyOf(parts);
    }

    /** Everything of one kind: graph, session or aggregate; found by walking the keys. */
    public SystemVerify everythingOnRedis() {
        TreeSet<String> names = new TreeSet<>();
        try (RedisLink link = link()) {
            for (Keyspace shard : link.find("meta")) {
                if (shard.shard() == 0) {
                    names.add(shard.kind() + ":" + shard.name());
                }
            }
        }
        for (String name : names) {
            String[] parts = name.split(":", 2);
            switch (parts[0]) {
                case "graph" -> graph(parts[1]);
                case "session" -> holds(ThingId.Kind.SESSION, parts[1]);
                case "aggregate" -> holds(ThingId.Kind.AGGREGATE, parts[1]);
                default -> {}
            }
        }
        return this;
    }

    /** Every count compared with the holds; and what sessions own belongs to sessions. */
    public SystemVerify graph(String name) {
        return look("graph " + name, () -> {
            try (RedisLink link = link()) {
                Addressing addressing = ValueGraph.existing(link, name)
                        .orElseThrow(() ->
                                new HoldfastException(HoldfastException.Category.GONE, "there is no graph " + name));
                try (Holdfast holdfast = Holdfast.builder()
                        .uri(uri)
                        .passive()
                        .set(GraphSettings.ADDRESSING, addressing)
                        .open()) {
                    VerifyReport report = holdfast.graph(name).inspect().verify(progress);
                    List<String> findings = new ArrayList<>();
                    report.findings().forEach(it -> findings.add(it.kind() + " " + it.thing() + ": " + it.detail()));
                    findings.addAll(SessionSnapshots.leftBehind(holdfast, name));
                    return new Part(
                            "graph " + name,
                            report.values() + " values, " + report.edges() + " edges",
                            findings,
                            report.voided());
                }
            }
        });
    }

    /** Every open thing can be closed, no holder is counted twice, every lease can lapse. */
    public SystemVerify holds(ThingId.Kind kind, String name) {
        String part = (kind == ThingId.Kind.SESSION ? "sessions " : "aggregates ") + name;
        return look(part, () -> {
            try (RedisLink link = link()) {
                HoldView view = HoldView.find(link, kind, name)
                        .orElseThrow(
                                () -> new HoldfastException(HoldfastException.Category.GONE, "there are no " + part));
                HoldVerifier.Report report =
                        new HoldVerifier(link, view.set(), done -> progress.at(part, done, done)).run();
                return new Part(
                        part,
                        report.things() + " things, " + report.leases() + " leases, " + report.closing() + " closing",
                        report.findings().stream()
                                .map(it -> it.thing() + ": " + it.detail())
                                .toList(),
                        "");
            }
        });
    }

    /** No trashed piece was read, and no cycle was cut short. */
    public SystemVerify node(StorageNode node) {
        return look("node " + node.id(), () -> {
            List<String> findings = new ArrayList<>();
            List<NodeStatus.OfOwner> owners = node.status().owners();
            for (NodeStatus.OfOwner owner : owners) {
                owner.alarms()
                        .forEach(alarm -> findings.add("piece " + alarm.id() + " was read at " + alarm.at()
                                + " though cycle " + alarm.cycle() + " had trashed it"));
                owner.underWay()
                        .filter(NodeStatus.UnderWay::released)
                        .ifPresent(cycle -> findings.add("cycle " + cycle.cycle() + " of " + owner.owner()
                                + " was cut short; it goes on when the node is resumed"));
            }
            return new Part("node " + node.id(), owners.size() + " owners", findings, "");
        });
    }

    /** A walk of the file agrees with every counter. */
    public SystemVerify cache(Path file) {
        return look("cache " + file, () -> {
            AuditReport report = CacheAudit.of(file);
            return new Part("cache " + file, report.items() + " values", List.copyOf(report.problems()), "");
        });
    }

    private interface Look {
        Part now() throws IOException;
    }

    private SystemVerify look(String name, Look look) {
        Part part;
        try {
            part = look.now();
        } catch (HoldfastException | IOException e) {
            part = new Part(name, "nothing", List.of(), String.valueOf(e.getMessage()));
        }
        parts.add(part);
        return this;
    }

    private RedisLink link() {
        return RedisLink.connect(Settings.ofProcess().set(LinkSettings.URI, uri));
    }
}
