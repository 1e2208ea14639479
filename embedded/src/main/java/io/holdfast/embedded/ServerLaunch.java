package io.holdfast.embedded;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * How a server is started, for the embedded store and for the test kit.
 *
 * <p><b>Port.</b> A port that was looked up as free may be taken a moment later, so none is looked up: the server is
 * told to take one, and if it cannot, the next one is tried. Only the server's own log is believed about whether it
 * listens; an answer on the port could come from somebody else. Ports come from below the range that outgoing
 * connections use, so that a server that is down for a while can have its port again.
 *
 * <p><b>Life.</b> A server must not outlive this process, also when that is killed and can do nothing about it. So
 * the process that Java starts is a shell that forks a guard and then becomes the server (same process id). The guard
 * waits on the pipe from this process; nothing is ever written there, but the kernel closes it when this process is
 * gone, and then the guard ends the server. As this happens after all shutdown hooks, the server serves them to the
 * end. The server gets a terminal session of its own where that can be had, so that a Ctrl-C meant for this process
 * does not stop it first.
 */
public final class ServerLaunch {

    private static final System.Logger LOG = System.getLogger(ServerLaunch.class.getName());

    static final String LOG_FILE = "server.log";

    private static final int LOWEST_PORT = 12_000;
    /** With 10,000 more, as the Cluster bus takes it, this is still below the ports of outgoing connections. */
    private static final int HIGHEST_PORT = 22_700;

    private static final int PORTS_TRIED_MAX = 40;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    // $1 signal by which the guard asks the server to stop   $2 folder to remove afterwards, or empty   $3... server
    // A guard whose server ended first has lost its parent, which /proc shows: it must not signal a stranger.
    private static final String SHELL = """
        signal=$1; scratch=$2; shift 2
        exec 3<&0 </dev/null
        serves() {
          if [ -r /proc/self/stat ]; then
            read -r _ _ _ parent _ </proc/self/stat; [ "$parent" = "$$" ]
          else
            kill -0 $$
          fi
        }
        (
          trap '' INT HUP TERM
          exec >/dev/null 2>&1
          read -r _ <&3
          serves || exit 0
          kill -"$signal" $$
          tenths=0
          while serves; do
            sleep 0.1
            tenths=$((tenths + 1))
            [ $tenths -lt 50 ] || kill -KILL $$
          done
          [ -z "$scratch" ] || rm -rf -- "$scratch"
        ) &
        exec 3<&-
        if command -v setsid >/dev/null 2>&1; then exec setsid "$@"; else exec "$@"; fi
        """;

    private final List<IntFunction<List<String>>> arguments = new ArrayList<>();
    private int fixedPort;
    private boolean sentinel;
    private boolean dataKept;
    private @Nullable Path folder;
    private boolean folderIsScratch;

    private ServerLaunch() {}

    /** A server that listens on 127.0.0.1 only. */
    public static ServerLaunch server() {
        return new ServerLaunch();
    }

    /** The port to take, or none but this; otherwise any free one. */
    public ServerLaunch port(int port) {
        fixedPort = port;
        return this;
    }

    /** The folder that the server works in; otherwise one of its own that is removed with it. */
    public ServerLaunch folder(Path folder) {
        this.folder = folder;
        this.folderIsScratch = false;
        return this;
    }

    /** A folder for several lives of a server: the caller removes it, and the guard if this process cannot any more. */
    public ServerLaunch scratchFolder(Path folder) {
        this.folder = folder;
        this.folderIsScratch = true;
        return this;
    }

    /** Stops the server by asking rather than by killing, so that it can write down what it holds. */
    public ServerLaunch dataKept() {
        dataKept = true;
        return this;
    }

    /** Adds options as on the server's command line: {@code "--maxmemory", "10mb"}. The log level must stay. */
    public ServerLaunch options(String... options) {
        List<String> fixed = List.of(options);
        return optionsByPort(port -> fixed);
    }

    /** Adds options that depend on the port that is tried. */
    public ServerLaunch optionsByPort(IntFunction<List<String>> options) {
        arguments.add(options);
        return this;
    }

    /** Runs the executable as a Sentinel, with this configuration file (which the Sentinel rewrites). */
    public ServerLaunch sentinel(Path configuration) {
        sentinel = true;
        arguments.addFirst(port -> List.of(configuration.toString(), "--sentinel"));
        return this;
    }

    /** Starts the server and returns when it answers. */
    public ServerProcess start() {
        Path executable = ServerBinary.executable();
        try {
            Path home = folder != null ? folder : Files.createTempDirectory("holdfast-redis-");
            for (int tried = 1; ; tried++) {
                int port =
                        fixedPort != 0 ? fixedPort : ThreadLocalRandom.current().nextInt(LOWEST_PORT, HIGHEST_PORT);
                ServerProcess started = attempt(executable, port, home);
                if (awaitReady(started)) {
                    return started;
                }
                String log = started.log();
                started.close();
                boolean again = (log.contains("Failed listening on port") && fixedPort == 0)
                        || log.contains("Text file busy"); // a fork elsewhere in this process still has it open
                if (!again || tried == PORTS_TRIED_MAX) {
                    throw refused(port, log);
                }
                LOG.log(System.Logger.Level.DEBUG, "port {0} is taken, another is tried", String.valueOf(port));
                if (folder == null) {
                    home = Files.createTempDirectory("holdfast-redis-");
                }
            }
        } catch (IOException e) {
            throw new HoldfastException(
                    Category.MISUSE,
                    "the embedded Redis server could not be started: " + e.getMessage(),
                    "make sure that " + executable + " may be executed and the temporary folder written to",
                    e);
        }
    }

    private ServerProcess attempt(Path executable, int port, Path home) throws IOException {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", SHELL, "holdfast-redis"));
        command.add(dataKept ? "TERM" : "KILL");
        command.add(folder == null || folderIsScratch ? home.toString() : "");
        command.add(executable.toString());
        List<String> own = List.of(
                "--port", String.valueOf(port), "--bind", "127.0.0.1", "--dir", home.toString(), "--daemonize", "no");
        List<String> asked = new ArrayList<>();
        arguments.forEach(options -> asked.addAll(options.apply(port)));
        // A Sentinel's configuration file and mode come first, everything else may override what stands here.
        int first = sentinel ? 2 : 0;
        command.addAll(asked.subList(0, first));
        command.addAll(own);
        if (!sentinel) {
            command.addAll(List.of("--save", "", "--appendonly", "no"));
        }
        command.addAll(asked.subList(first, asked.size()));
        Path log = home.resolve(LOG_FILE);
        Process process = new ProcessBuilder(command)
                .directory(home.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        return new ServerProcess(process, port, log, dataKept, folder == null ? home : null);
    }

    /** Whether the server came to listen; if not, it has ended and its log says why. */
    private static boolean awaitReady(ServerProcess started) throws IOException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            boolean ended = !started.isAlive();
            String log = started.log();
            if (log.contains("Ready to accept connections") || log.contains("Sentinel ID is")) {
                if (started.answers(Duration.ofSeconds(5))) {
                    return true;
                }
            } else if (ended) {
                return false;
            }
            if (System.nanoTime() > deadline) {
                started.close();
                throw new HoldfastException(
                        Category.RETRY,
                        "the embedded Redis server did not answer within " + PATIENCE.toSeconds() + " s: "
                                + lastLines(log));
            }
            started.awaitEnd(1, TimeUnit.MILLISECONDS);
        }
    }

    private static HoldfastException refused(int port, String log) {
        String said = lastLines(log);
        if (log.contains("Failed listening on port")) {
            return new HoldfastException(
                    Category.RETRY,
                    "port " + port + " of 127.0.0.1 is taken: " + said,
                    "end the process that listens there, or use another port",
                    null);
        }
        if (log.contains("No space left on device")) {
            return new HoldfastException(Category.FULL, "the embedded Redis server has no room on disk: " + said);
        }
        if (log.contains("Bad file format") || log.contains("Unrecoverable error")) {
            return new HoldfastException(
                    Category.CORRUPT,
                    "the embedded Redis server cannot read its data: " + said,
                    "restore the data folder from a backup, or start with an empty one",
                    null);
        }
        return new HoldfastException(
                Category.MISUSE,
                "the embedded Redis server ended at once: " + said,
                "correct what the server complains about",
                null);
    }

    private static String lastLines(String log) {
        List<String> lines = log.lines().filter(line -> !line.isBlank()).toList();
        return lines.isEmpty()
                ? "it said nothing"
                : String.join(" | ", lines.subList(Math.max(0, lines.size() - 3), lines.size()));
    }
}
