package io.holdfast.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.spi.EmbeddedStore;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

final class EmbeddedRedisIT {

    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    @TempDir
    Path folder;

    private final EmbeddedStore store =
            ServiceLoader.load(EmbeddedStore.class).findFirst().orElseThrow();

    @Test
    void startsOnLoopbackAndIsGoneAfterClose() throws Exception {
        var running = store.start(null);
        URI uri = running.uri();
        assertThat(uri.getHost()).isEqualTo("127.0.0.1");
        assertThat(ask(uri, "PING")).isEqualTo("+PONG");

        running.close();
        running.close();

        try (var free = new ServerSocket(uri.getPort(), 1, LOOPBACK)) {
            assertThat(free.isBound()).isTrue();
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void listensOnNoOtherAddress() throws Exception {
        try (var running = store.start(null)) {
            String port = "%04X".formatted(running.uri().getPort());
            assertThat(listeningAddresses("/proc/net/tcp", port)).containsExactly("0100007F");
            assertThat(listeningAddresses("/proc/net/tcp6", port)).isEmpty();
        }
    }

    @Test
    void twoServersDoNotShareAnything() throws Exception {
        try (var one = store.start(null);
                var other = store.start(null)) {
            assertThat(ask(one.uri(), "SET held yes")).isEqualTo("+OK");
            assertThat(ask(other.uri(), "EXISTS held")).isEqualTo(":0");
        }
    }

    @Test
    void dataOutlivesTheServerInItsFolder() throws Exception {
        try (var running = store.start(folder)) {
            ask(running.uri(), "SET held yes");
        }
        try (var again = store.start(folder)) {
            assertThat(ask(again.uri(), "STRLEN held")).isEqualTo(":3");
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingOutlivesTheServerWithoutFolder() {
        var process = ServerLaunch.server().start();
        Path home = ProcessHandle.of(process.pid())
                .map(handle -> Path.of("/proc", String.valueOf(handle.pid()), "cwd"))
                .map(EmbeddedRedisIT::target)
                .orElseThrow();
        assertThat(home).isDirectory();

        process.close();

        assertThat(home).doesNotExist();
    }

    @Test
    void aSecondServerOnTheSameFolderIsRefusedInOneLine() {
        try (var running = store.start(folder)) {
            var refusal = catchThrowableOfType(HoldfastException.class, () -> store.start(folder));

            assertThat(refusal.category()).isEqualTo(Category.MISUSE);
            assertThat(refusal).hasMessage("the data folder " + folder + " is in use by another embedded Redis server");
            assertThat(ask(running.uri(), "PING")).isEqualTo("+PONG");
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aFolderThatIsLockedByAnotherProcessIsRefused() throws Exception {
        try (var lockFile = FileChannel.open(
                        folder.resolve("holdfast.lock"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                var lock = lockFile.lock()) {
            assertThat(lock.isValid()).isTrue();
            assertThat(catchThrowableOfType(HoldfastException.class, () -> store.start(folder)))
                    .hasMessageContaining("is in use");
        }
        store.start(folder).close();
    }

    @Test
    void theServerOfAKilledJvmIsAwaitedBeforeItsFolderIsUsed() throws Exception {
        Process predecessor = new ProcessBuilder("/bin/sleep", "600").start();
        long started = predecessor.info().startInstant().orElseThrow().toEpochMilli();
        Files.writeString(folder.resolve("holdfast.lock"), predecessor.pid() + " " + started);
        var successor =
                CompletableFuture.supplyAsync(() -> store.start(folder), Executors.newVirtualThreadPerTaskExecutor());
        await("it waits").during(Duration.ofMillis(200)).until(() -> !successor.isDone());

        predecessor.destroyForcibly();

        successor.get(20, TimeUnit.SECONDS).close();
    }

    @Test
    void aTakenPortIsSaidSoAndAFreeOneIsFoundInstead() throws Exception {
        try (var taken = new ServerSocket(0, 1, LOOPBACK)) {
            var fixed = ServerLaunch.server().port(taken.getLocalPort());
            var refusal = catchThrowableOfType(HoldfastException.class, fixed::start);
            assertThat(refusal)
                    .hasMessageStartingWith("port " + taken.getLocalPort() + " of 127.0.0.1 is taken")
                    .hasMessageContaining("Failed listening");

            // The bus is what cannot be had at the first try: the launch goes on with another port.
            var tries = new AtomicInteger();
            var launch = ServerLaunch.server()
                    .optionsByPort(port -> List.of(
                            "--cluster-enabled",
                            "yes",
                            "--cluster-port",
                            String.valueOf(tries.incrementAndGet() < 3 ? taken.getLocalPort() : port + 10_000)));
            try (var process = launch.start()) {
                assertThat(process.isAlive()).isTrue();
                assertThat(tries).hasValueGreaterThanOrEqualTo(3);
            }
        }
    }

    @Test
    void theServersLastWordsAreInTheError() {
        var launch = ServerLaunch.server().options("--no-such-option", "1");

        var refusal = catchThrowableOfType(HoldfastException.class, launch::start);

        assertThat(refusal.category()).isEqualTo(Category.MISUSE);
        assertThat(refusal).hasMessageContaining("no-such-option").message().doesNotContain("\n");
    }

    @Test
    void damagedDataIsRefusedAsCorrupt() throws Exception {
        store.start(folder).close();
        Path part = folder.resolve("appendonlydir").resolve("appendonly.aof.1.incr.aof");
        Files.writeString(part, "*3\r\n$3\r\nSET\r\nnonsense\r\n*1\r\n$4\r\nPING\r\n");

        var refusal = catchThrowableOfType(HoldfastException.class, () -> store.start(folder));

        assertThat(refusal.category()).isEqualTo(Category.CORRUPT);
        assertThat(part).exists();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void killingTheJvmLeavesNoServerBehind() throws Exception {
        Process jvm = childJvm("memory");
        long server = firstLine(jvm);
        var handle = ProcessHandle.of(server).orElseThrow();
        Path home = target(Path.of("/proc", String.valueOf(server), "cwd"));

        jvm.destroyForcibly().waitFor();

        handle.onExit().get(10, TimeUnit.SECONDS);
        assertThat(handle.isAlive()).isFalse();
        await("the guard removes what is left")
                .untilAsserted(() -> assertThat(home).doesNotExist());
    }

    @Test
    void aFolderIsFreeAgainAfterItsJvmWasKilledAndNothingAcknowledgedIsLost() throws Exception {
        Process jvm = childJvm(folder.toString());
        firstLine(jvm);

        jvm.destroyForcibly().waitFor();

        try (var successor = store.start(folder)) {
            assertThat(ask(successor.uri(), "STRLEN held")).isEqualTo(":3");
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aServerThatHangsIsEndedToo() throws Exception {
        var process = ServerLaunch.server().dataKept().folder(folder).start();
        new ProcessBuilder("/bin/kill", "-STOP", String.valueOf(process.pid()))
                .start()
                .waitFor();

        process.kill();

        assertThat(process.isAlive()).isFalse();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void anInterruptFromTheTerminalDoesNotReachTheServer() throws Exception {
        try (var process = ServerLaunch.server().start()) {
            String[] stat = Files.readString(Path.of("/proc", String.valueOf(process.pid()), "stat"))
                    .split(" ", 8);
            assertThat(stat[5]).as("session").isEqualTo(String.valueOf(process.pid()));
        }
    }

    /** Runs in a JVM of its own: starts a server, says its process id, and waits to be killed. */
    static final class Host {

        public static void main(String[] arguments) throws Exception {
            Path data = arguments[0].equals("memory") ? null : Path.of(arguments[0]);
            var running = new EmbeddedRedis().start(data);
            ask(running.uri(), "SET held yes");
            long server = ProcessHandle.current()
                    .children()
                    .filter(child -> child.info().command().orElse("").contains("redis-server"))
                    .findFirst()
                    .orElseThrow()
                    .pid();
            System.out.println(server);
            System.in.read();
        }
    }

    private static Process childJvm(String data) throws Exception {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Host.class.getName(),
                        data)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static long firstLine(Process jvm) throws Exception {
        var reader = new BufferedReader(new InputStreamReader(jvm.getInputStream(), StandardCharsets.UTF_8));
        return Long.parseLong(reader.readLine());
    }

    /** The local addresses that listen on a port, as the kernel writes them. */
    private static List<String> listeningAddresses(String table, String port) throws Exception {
        return Files.readAllLines(Path.of(table)).stream()
                .map(line -> line.strip().split(" +", 5))
                .filter(fields -> fields[3].equals("0A") && fields[1].endsWith(":" + port))
                .map(fields -> fields[1].substring(0, fields[1].indexOf(':')))
                .toList();
    }

    private static Path target(Path link) {
        try {
            return link.toRealPath();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static String ask(URI uri, String command) throws Exception {
        try (var socket = new Socket(uri.getHost(), uri.getPort())) {
            socket.setSoTimeout((int) Duration.ofSeconds(5).toMillis());
            socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
            var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            return in.readLine();
        }
    }
}
