package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Settings;
import io.holdfast.Time;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepPlan;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.catalogue.Catalogue;
import io.holdfast.sweep.node.NodeBuilder;
import io.holdfast.sweep.node.StorageNode;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs a cycle when its interval has passed, in turns with other daemons. The nodes are open only while a cycle runs, so that
 * commands and other daemons find them.
 */
final class SweepPart extends Part {

    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofSeconds(30);

    private final Settings settings;
    private final RedisPart redis;
    private final SweepMeters meters;
    private final List<Path> folders;
    private @Nullable LiveSource source;
    private volatile Duration next = Duration.ZERO;
    private String last = "no cycle yet";

    SweepPart(Settings settings, RedisPart redis, SweepMeters meters) {
        super("sweep");
        this.settings = settings;
        this.redis = redis;
        this.meters = meters;
        this.folders = ServeSettings.list(settings, ServeSettings.NODES).stream()
                .map(Path::of)
                .toList();
    }

    @Override
    void start() {
        if (folders.isEmpty()) {
            throw HoldfastException.misuse(
                    "serve.sweep.catalogue is set and neither serve.sweep.nodes nor serve.sweep.fleet is",
                    "name the folders of the nodes, or the file of a fleet");
        }
    }

    @Override
    Duration pause() {
        return next.compareTo(LOOK) > 0 ? LOOK : next;
    }

    @Override
    String look() throws Exception {
        Catalogue catalogue = catalogue();
        SweepTurn turn = new SweepTurn(
                redis.client().link(),
                catalogue.owner().name(),
                redis.client().self(),
                LEASE,
                settings.get(ServeSettings.INTERVAL));
        next = turn.take();
        if (next.isZero()) {
            last = cycle(catalogue, turn);
            next = settings.get(ServeSettings.INTERVAL);
        }
        return last + "; the next in " + next.toSeconds() + " s at the latest";
    }

    /** Opened once: to open a file reads all of it, and the turn needs to know the owner alone. A cycle reads it afresh. */
    private Catalogue catalogue() throws IOException {
        LiveSource opened = source;
        if (opened == null) {
            opened = LiveSource.open(settings, redis);
            source = opened;
        }
        return opened.catalogue();
    }

    private String cycle(Catalogue catalogue, SweepTurn turn) throws Exception {
        List<StorageNode> nodes = new ArrayList<>();
        try {
            for (Path folder : folders) {
                StorageNode node = StorageNode.at(
                                folder, NodeBuilder.nameOf(folder).name())
                        .settings(settings)
                        .open();
                nodes.add(node);
                node.resume(StorageNode.Progress.NONE);
            }
            TurnKeeper keeper = new TurnKeeper(turn::renew, LEASE, Time.system());
            Sweep sweep = Sweep.of(catalogue)
                    .nodes(nodes)
                    .settings(settings)
                    .progress((phase, what, done, total) -> keeper.keep());
            SweepPlan plan = sweep.plan();
            if (!keeper.isOurs()) {
                throw new HoldfastException(
                        Category.LAPSED,
                        "another daemon has the turn, since this one was cut off for a minute; nothing was trashed",
                        "it goes on with the next cycle",
                        null);
            }
            boolean trash = settings.get(ServeSettings.TRASH);
            SweepReport report = trash ? plan.trash() : plan.report();
            long emptied = settings.get(ServeSettings.EMPTY) ? sweep.empty().removed() : 0;
            meters.ran(report, emptied);
            turn.done();
            return "cycle " + report.cycle() + ": " + report.examined() + " pieces examined, " + report.trashed()
                    + " trashed, " + emptied + " emptied"
                    + (report.failures().isEmpty()
                            ? ""
                            : ", failed on " + report.failures().keySet());
        } catch (Exception e) {
            meters.failed();
            throw e;
        } finally {
            nodes.forEach(Part::closeQuietly);
        }
    }

    @Override
    void stop() {
        closeQuietly(source);
    }
}
