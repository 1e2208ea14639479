package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.sweep.ManagedFleet;
import io.holdfast.app.sweep.RedisCycleStore;
import io.holdfast.sweep.manager.CycleDuty;
import io.holdfast.sweep.manager.CycleReport;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import io.holdfast.sweep.rpc.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Manages a fleet: runs a cycle when its interval has passed, in turns with other managers, by the log in Redis. */
final class FleetPart extends Part implements CycleDuty.Listener {

    private final Settings settings;
    private final RedisPart redis;
    private final SweepMeters meters;
    private @Nullable ManagedFleet fleet;
    private @Nullable CycleDuty duty;
    private Duration next = Duration.ZERO;
    private String last = "no cycle yet";
    private @Nullable LiveSource source;
    private @Nullable HoldfastException failure;

    FleetPart(Settings settings, RedisPart redis, SweepMeters meters) {
        super("sweep");
        this.settings = settings;
        this.redis = redis;
        this.meters = meters;
        if (settings.get(ServeSettings.FLEET_KEY).isEmpty()) {
            throw HoldfastException.misuse(
                    "serve.sweep.fleet is set and serve.sweep.key is not", "name the file of a manager's key");
        }
    }

    @Override
    void start() throws Exception {
        String listen = settings.get(ServeSettings.FLEET_LISTEN);
        closeQuietly(source);
        LiveSource known = LiveSource.open(settings, redis);
        source = known;
        ManagedFleet opened = new ManagedFleet(
                Path.of(settings.get(ServeSettings.FLEET)),
                SigningKey.read(Path.of(settings.get(ServeSettings.FLEET_KEY))),
                tls(),
                ring(),
                new RedisCycleStore(redis.client().link()),
                known.catalogue(),
                settings,
                listen.isEmpty() ? null : listen);
        fleet = opened;
        duty = new CycleDuty(
                opened.manager(), settings.get(ManagerSettings.INTERVAL), settings.get(ServeSettings.EMPTY), this);
    }

    private Optional<KeyRing> ring() throws IOException {
        String keys = settings.get(ServeSettings.FLEET_KEYS);
        return keys.isEmpty() ? Optional.empty() : Optional.of(KeyRing.at(Path.of(keys)));
    }

    private Optional<TlsFiles> tls() {
        List<Path> files = ServeSettings.list(settings, ServeSettings.FLEET_TLS).stream()
                .map(Path::of)
                .toList();
        return files.isEmpty() ? Optional.empty() : Optional.of(new TlsFiles(files.get(0), files.get(1), files.get(2)));
    }

    @Override
    Duration pause() {
        return next;
    }

    @Override
    String look() throws Exception {
        CycleDuty cycles = duty;
        if (cycles == null) {
            throw new IllegalStateException("the part was not started");
        }
        failure = null;
        next = cycles.step().next();
        HoldfastException failed = failure;
        if (failed != null) {
            throw failed;
        }
        return last;
    }

    @Override
    public void ended(CycleReport report, long emptied) {
        meters.ran(report, emptied);
        List<String> failed = report.in("failed").stream()
                .map(node -> node.node() + " (" + node.detail() + ")")
                .toList();
        last = "cycle " + report.cycle() + ": " + report.examined() + " pieces examined, " + report.trashed()
                + " trashed, " + emptied + " emptied" + (report.note().isEmpty() ? "" : "; " + report.note())
                + (failed.isEmpty() ? "" : "; failed: " + String.join(", ", failed));
    }

    @Override
    public void failed(HoldfastException why) {
        meters.failed();
        failure = why;
    }

    @Override
    void stop() {
        closeQuietly(fleet);
        closeQuietly(source);
    }
}
