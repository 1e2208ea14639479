package io.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.holdfast.redis.graph.Snapshot;
import io.holdfast.testkit.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/**
 * The clock of a real server is set forward or back: nothing that is held ends. On demand, with a C compiler and a server
 * that is linked dynamically: {@code -Dserver=/usr/bin/redis-server}. A preloaded library adds to the time that the server
 * asks for; libfaketime itself does not start with jemalloc.
 */
@EnabledIfSystemProperty(named = "server", matches = ".+")
@Isolated("it sets a system property")
class SteppedClockIT {

    private static final String SERVER = "holdfast.embedded.server";
    private static final String SHIM = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long ahead(void) {
          char text[32] = {0};
          int file = open(getenv("CLOCK_FILE"), O_RDONLY);
          if (file >= 0) {
            if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
            close(file);
          }
          return atol(text);
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
          int result = syscall(SYS_clock_gettime, clock, time);
          if (clock == CLOCK_REALTIME) time->tv_sec += ahead();
          return result;
        }
        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
          struct timespec now;
          clock_gettime(CLOCK_REALTIME, &now);
          time->tv_sec = now.tv_sec;
          time->tv_usec = now.tv_nsec / 1000;
          return 0;
        }
        """;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(ints = {60, 7_200, -60})
    void nothingThatIsHeldEnds(int seconds) throws Exception {
        List<String> closed = new CopyOnWriteArrayList<>();
        List<String> flushed = new CopyOnWriteArrayList<>();
        try (RedisServer server = server();
                ServingInstance a = new ServingInstance(server, "a", closed, flushed);
                ServingInstance b = new ServingInstance(server, "b", closed, flushed);
                ServingInstance c = new ServingInstance(server, "c", closed, flushed)) {
            a.graph.root("main").set(a.put);
            Snapshot snapshot = b.graph.snapshot("main");
            a.graph.root("main").drop();
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> !a.sessions.view().stats().quiet());
            long before = serverSeconds(server);
            Files.writeString(folder.resolve("clock"), seconds + "\n");
            assertThat(serverSeconds(server) - before).isBetween(seconds - 5L, seconds + 5L);
            Thread.sleep(ServingInstance.LEASE.multipliedBy(4)); // by the clock of this process
            assertThat(closed).isEmpty();
            assertThat(flushed).as("keys within windows of ten minutes").hasSize(seconds > 600 ? 3 : 0);
            for (ServingInstance one : List.of(a, b, c)) {
                assertThat(one.own.isValid()).isTrue();
                assertThat(one.shared.isValid()).isTrue();
                assertThat(one.graph.find(one.put)).as("what a writer put").isPresent();
                one.writer.put("more".getBytes(UTF_8), one.put);
                one.writer.flush();
            }
            assertThat(new String(snapshot.get(a.put), UTF_8)).isEqualTo("a");
        }
    }

    private static long serverSeconds(RedisServer server) {
        try (Jedis jedis = server.client()) {
            return Long.parseLong(jedis.time().getFirst());
        }
    }

    private RedisServer server() throws Exception {
        Path clock = Files.writeString(folder.resolve("clock"), "0\n");
        Path source = Files.writeString(folder.resolve("shim.c"), SHIM);
        Path library = folder.resolve("shim.so");
        Process compiler = new ProcessBuilder("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString())
                .inheritIO()
                .start();
        assertThat(compiler.waitFor()).isZero();
        Path script = Files.writeString(
                folder.resolve("server"), """
                    #!/bin/sh
                    LD_PRELOAD=%s CLOCK_FILE=%s exec %s "$@"
                    """.formatted(library, clock, System.getProperty("server")));
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        System.setProperty(SERVER, script.toString());
        try {
            return RedisServer.start();
        } finally {
            System.clearProperty(SERVER);
        }
    }
}
