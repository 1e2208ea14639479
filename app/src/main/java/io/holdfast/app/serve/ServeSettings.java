package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.Settings;
import io.holdfast.redis.HoldfastSettings;
import io.holdfast.slab.SlabSettings;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.catalogue.IdForm;
import io.holdfast.sweep.manager.ManagerSettings;
import io.holdfast.sweep.node.NodeSettings;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The settings of the daemon, and how its file is read. */
public final class ServeSettings {

    private static final String NAMES = "([A-Za-z0-9._-]{1,64}(\\s*,\\s*[A-Za-z0-9._-]{1,64})*)?";

    /** Where health and metrics are asked for; loopback unless you say otherwise, since nobody is asked for a password. */
    public static final Setting<String> LISTEN = Setting.text(
            "serve.listen", "127.0.0.1:9464", Pattern.compile("[A-Za-z0-9._\\[\\]:-]+:\\d{1,5}"), "HOST:PORT");

    public static final Setting<String> GRAPHS =
            Setting.text("serve.graphs", "", Pattern.compile(NAMES), "names, with commas between");

    public static final Setting<String> SESSIONS =
            Setting.text("serve.sessions", "", Pattern.compile(NAMES), "names, with commas between");

    /** Sets whose sessions own snapshots, and the graph: what they own goes when they are closed. */
    public static final Setting<String> SESSION_SNAPSHOTS = Setting.text(
            "serve.session-snapshots",
            "",
            Pattern.compile("([A-Za-z0-9._-]+:[A-Za-z0-9._-]+(\\s*,\\s*[A-Za-z0-9._-]+:[A-Za-z0-9._-]+)*)?"),
            "SET:GRAPH, with commas between");

    public static final Setting<String> AGGREGATES =
            Setting.text("serve.aggregates", "", Pattern.compile(NAMES), "names, with commas between");

    /** Slab caches whose lapsed values are reclaimed. */
    public static final Setting<String> CACHES =
            Setting.text("serve.caches", "", Pattern.compile("[^\\r\\n]*"), "files, with commas between");

    /** What the sweep asks which pieces are live. */
    public static final Setting<String> CATALOGUE = Setting.text(
            "serve.sweep.catalogue",
            "",
            Pattern.compile("[^\\r\\n]*"),
            "empty, graph:NAME, a catalogue file, or a JDBC URL");

    /** For a JDBC URL: what yields node, id and created of every live piece. */
    public static final Setting<String> QUERY =
            Setting.text("serve.sweep.query", "", Pattern.compile("[^\\r\\n]*"), "a SELECT");

    public static final Setting<String> WHOSE =
            Setting.text("serve.sweep.owner", "default", Pattern.compile("[A-Za-z0-9._-]{1,64}"), "an owner");

    public static final Setting<IdForm> IDS = Setting.choice("serve.sweep.ids", IdForm.BYTES);

    public static final Setting<String> INCARNATION =
            Setting.text("serve.sweep.incarnation", "", Pattern.compile("[^\\r\\n]*"), "empty, or a SELECT");

    public static final Setting<String> NODES =
            Setting.text("serve.sweep.nodes", "", Pattern.compile("[^\\r\\n]*"), "folders, with commas between");

    /** Nodes and workers that are other processes, instead of folders: this daemon is then a manager of theirs. */
    public static final Setting<String> FLEET = Setting.text(
            "serve.sweep.fleet", "", Pattern.compile("[^\\r\\n]*"), "empty, or a file that names nodes and workers");

    public static final Setting<String> FLEET_KEY =
            Setting.text("serve.sweep.key", "", Pattern.compile("[^\\r\\n]*"), "the file of a manager's signing key");

    /** Needed for two builders without TLS. */
    public static final Setting<String> FLEET_KEYS = Setting.text(
            "serve.sweep.keys",
            "",
            Pattern.compile("[^\\r\\n]*"),
            "empty, or the key ring that proves who a worker is");

    /** Where workers register with this daemon. */
    public static final Setting<String> FLEET_LISTEN = Setting.text(
            "serve.sweep.listen", "", Pattern.compile("([A-Za-z0-9._\\[\\]:-]+:\\d{1,5})?"), "empty, or HOST:PORT");

    /** What this daemon shows at the ports of a fleet that wants TLS. */
    public static final Setting<String> FLEET_TLS = Setting.text(
            "serve.sweep.tls",
            "",
            Pattern.compile("([^,\\r\\n]+,[^,\\r\\n]+,[^,\\r\\n]+)?"),
            "empty, or three PEM files: certificate, key, authorities");

    public static final Setting<Duration> INTERVAL =
            Setting.duration("serve.sweep.interval", Duration.ofDays(1), Duration.ofSeconds(1), Duration.ofDays(365));

    /** Whether cycles trash what the nodes are ready to trash, or are only planned. */
    public static final Setting<Boolean> TRASH = Setting.flag("serve.sweep.trash", true);

    /** Whether what has been in the trash long enough is deleted for good. */
    public static final Setting<Boolean> EMPTY = Setting.flag("serve.sweep.empty", false);

    public static final List<Setting<?>> ALL = List.of(
            LISTEN,
            GRAPHS,
            SESSIONS,
            SESSION_SNAPSHOTS,
            AGGREGATES,
            CACHES,
            CATALOGUE,
            QUERY,
            WHOSE,
            IDS,
            INCARNATION,
            NODES,
            FLEET,
            FLEET_KEY,
            FLEET_KEYS,
            FLEET_LISTEN,
            FLEET_TLS,
            INTERVAL,
            TRASH,
            EMPTY);

    private ServeSettings() {}

    /** Everything that may stand in the daemon's file. */
    static List<Setting<?>> known() {
        List<Setting<?>> all = new ArrayList<>(HoldfastSettings.ALL);
        all.addAll(SweepSettings.ALL);
        all.addAll(NodeSettings.ALL);
        all.addAll(ManagerSettings.ALL);
        all.addAll(SlabSettings.all());
        all.addAll(ALL);
        return all;
    }

    /**
     * The settings of this process, and beneath its properties those of a file, whose keys are the names of settings. What no
     * setting knows is refused, and so is a value that is not allowed, before anything is begun.
     */
    static Settings read(@Nullable Path file, Properties process, Map<String, String> environment) throws IOException {
        Properties all = new Properties();
        if (file != null) {
            Properties inFile = new Properties();
            try (Reader reader = Files.newBufferedReader(file)) {
                inFile.load(reader);
            } catch (IllegalArgumentException e) {
                throw HoldfastException.misuse(
                        file + " is not a file of settings: " + e.getMessage(), "write NAME = VALUE, a line each");
            }
            inFile.forEach((name, value) -> all.put("holdfast." + name, value));
        }
        process.stringPropertyNames().stream()
                .filter(name -> name.startsWith("holdfast.") && !name.equals("holdfast.root"))
                .forEach(name -> all.put(name, process.getProperty(name)));
        Settings settings = Settings.of(all, environment);
        settings.refuseUnknown("holdfast.", known());
        known().forEach(settings::get);
        return settings;
    }

    static List<String> list(Settings settings, Setting<String> setting) {
        return Arrays.stream(settings.get(setting).split(","))
                .map(String::strip)
                .filter(word -> !word.isEmpty())
                .toList();
    }
}
