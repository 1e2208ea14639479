package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code ./holdfast} and {@code bench/run} in a source tree of their own, with a Maven and a JDK that only say what they
 * were asked for. The folder's name has a blank in it.
 */
class LauncherIT {

    /** Counts its calls; does what a build does, or fails as told. */
    private static final String MAVEN = """
        #!/usr/bin/env bash
        echo called >>"$FAKE_CALLS"
        sleep "${FAKE_SECONDS:-0}"
        if [ -n "${FAKE_FAILURE:-}" ]; then echo "[ERROR] $FAKE_FAILURE"; exit 1; fi
        for argument in "$@"; do
          case $argument in
            -Dbuild.folder=*) folder=${argument#*=} ;;
            -Dmdep.outputFile=*) dependencies=${argument#*=} ;;
            -f) ;;
            */pom.xml) root=${argument%/pom.xml} ;;
            app | bench) module=$argument ;;
          esac
        done
        mkdir -p "$root/$module/$folder"
        echo jar >"$root/$module/$folder/holdfast-$module-1.jar"
        echo "$root/core/core.jar:/elsewhere/lib.jar" >"$dependencies"
        """;

    private static final String JAVA = """
        #!/usr/bin/env bash
        for argument in "$@"; do
          case $argument in -XX:AOTCacheOutput=*) exit 0 ;; esac
        done
        printf '[%s] ' "$@"
        exit "${FAKE_EXIT:-0}"
        """;

    private static final List<String> TOOLS = List.of(
            "bash",
            "env",
            "dirname",
            "readlink",
            "find",
            "mkdir",
            "dd",
            "rm",
            "cp",
            "mv",
            "touch",
            "flock",
            "sed",
            "grep",
            "cat",
            "tail",
            "sleep",
            "ln");

    private record Result(int exit, String out, String err) {}

    @TempDir
    Path folder;

    private Path root = Path.of("");
    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void makeTree() throws IOException {
        root = folder.resolve("a source tree");
        Path real = SourceTree.ofBuild().root();
        for (String file : List.of("holdfast", "bench/run", "bin/launch.bash")) {
            Files.createDirectories(root.resolve(file).getParent());
            Files.copy(real.resolve(file), root.resolve(file));
        }
        write("pom.xml", "");
        for (String module : List.of("core", "embedded", "redis", "sweep", "slab", "app", "testkit", "bench")) {
            write(module + "/pom.xml", "");
            write(module + "/src/main/java/A.java", "");
        }
        write("core/core.jar", "jar");
        Path tools = Files.createDirectories(folder.resolve("tools"));
        for (String tool : TOOLS) {
            executable(tools.resolve(tool), "#!/bin/sh\nexec " + which(tool) + " \"$@\"\n");
        }
        if (isOnPath("flock")) { // where there is none, the launcher does without
            executable(tools.resolve("flock"), "#!/bin/sh\nexec " + which("flock") + " \"$@\"\n");
        }
        executable(tools.resolve("mvn"), MAVEN);
        jdk("jdk-17", "17.0.9");
        jdk("jdk-25", "25.0.1");
        environment.put("PATH", tools.toString());
        environment.put("HOLDFAST_JDKS", folder.resolve("jdks").toString());
        environment.put("FAKE_CALLS", folder.resolve("calls").toString());
    }

    private void jdk(String name, String version) throws IOException {
        Path home = Files.createDirectories(folder.resolve("jdks").resolve(name));
        executable(home.resolve("bin/java"), JAVA);
        executable(home.resolve("bin/javac"), "");
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n");
    }

    private void write(String file, String content) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }

    private static void executable(Path file, String content) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static Stream<Path> places(String tool) {
        return Arrays.stream(System.getenv("PATH").split(":", -1))
                .map(entry -> Path.of(entry, tool))
                .filter(Files::isExecutable);
    }

    private static boolean isOnPath(String tool) {
        return places(tool).findFirst().isPresent();
    }

    private static Path which(String tool) {
        return places(tool).findFirst().orElseThrow(() -> new AssertionError(tool + " is not on the PATH"));
    }

    private Process start(String... command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static Result finish(Process process) throws Exception {
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return new Result(process.exitValue(), out, err);
    }

    private Result run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(root.resolve("holdfast").toString()));
        command.addAll(List.of(arguments));
        return finish(start(command.toArray(String[]::new)));
    }

    private long builds() throws IOException {
        Path calls = folder.resolve("calls");
        return Files.exists(calls) ? Files.readAllLines(calls).size() : 0;
    }

    private static String lastLine(String text) {
        return text.lines().toList().getLast();
    }

    @Test
    void buildsOnceAndThenStartsWithoutMaven() throws Exception {
        Result first = run("doctor", "two words");
        assertThat(first.exit()).isZero();
        assertThat(first.out())
                .contains("[-cp] [" + root + "/app/target/launch/lib/holdfast-app-1.jar:")
                .contains("/launch/lib/core.jar:/elsewhere/lib.jar]")
                .endsWith("[io.holdfast.app.Main] [doctor] [two words] ");
        assertThat(first.err()).hasLineCount(1).contains("building once", "build.log");
        Result second = run("doctor");
        assertThat(second.err()).isEmpty();
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void aNewerSourceBuildsAgain() throws Exception {
        run("doctor");
        Path source = root.resolve("core/src/main/java/A.java");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(2)));
        run("doctor");
        assertThat(builds()).isEqualTo(2);
    }

    @Test
    void aDeletedSourceBuildsAgain() throws Exception {
        run("doctor");
        Path stamp = root.resolve("app/target/launch/stamp");
        Files.setLastModifiedTime(stamp, FileTime.from(Instant.now().minusSeconds(5)));
        ageAllSources();
        run("doctor");
        assertThat(builds()).isEqualTo(1);
        Files.delete(root.resolve("core/src/main/java/A.java"));
        run("doctor");
        assertThat(builds()).isEqualTo(2);
    }

    /** Makes everything but what was built a minute old. */
    private void ageAllSources() throws IOException {
        FileTime old = FileTime.from(Instant.now().minusSeconds(60));
        List<Path> paths;
        try (Stream<Path> walk = Files.walk(root)) {
            paths = walk.filter(path -> !path.toString().contains("target")).toList();
        }
        for (Path path : paths) {
            Files.setLastModifiedTime(path, old);
        }
    }

    @Test
    void worksThroughLinksFromAnyFolder() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("hf"), root.resolve("holdfast"));
        Path relative = Files.createSymbolicLink(folder.resolve("hf2"), Path.of("hf"));
        assertThat(finish(start(link.toString(), "doctor")).exit()).isZero();
        assertThat(finish(start(relative.toString(), "doctor")).out()).contains(root + "/app/target");
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void twoAtOnceBuildOnce() throws Exception {
        startTwoAtOnce();
    }

    private void startTwoAtOnce() throws Exception {
        environment.put("FAKE_SECONDS", "1");
        Process one = start(root.resolve("holdfast").toString(), "a");
        Process other = start(root.resolve("holdfast").toString(), "b");
        Result first = finish(one);
        Result second = finish(other);
        assertThat(first.exit()).isZero();
        assertThat(second.exit()).isZero();
        assertThat(builds()).isEqualTo(1);
        assertThat(first.err() + second.err()).contains("waiting for another build");
    }

    @Test
    void twoAtOnceBuildOnceWithoutFlockToo() throws Exception {
        Files.deleteIfExists(folder.resolve("tools/flock"));
        startTwoAtOnce();
        assertThat(Files.exists(root.resolve("app/target/launch/build.link"), LinkOption.NOFOLLOW_LINKS))
                .isFalse();
    }

    @Test
    void aLockOfADeadProcessIsTakenOver() throws Exception {
        Files.deleteIfExists(folder.resolve("tools/flock"));
        Process dead = start("bash", "-c", "exit 0");
        assertThat(dead.waitFor(10, TimeUnit.SECONDS)).isTrue();
        Path launch = Files.createDirectories(root.resolve("app/target/launch"));
        Files.createSymbolicLink(launch.resolve("build.link"), Path.of(String.valueOf(dead.pid())));
        assertThat(run("doctor").exit()).isZero();
    }

    @Test
    void theJvmsExitCodeIsTheLaunchers() throws Exception {
        environment.put("FAKE_EXIT", "5");
        assertThat(run("doctor").exit()).isEqualTo(5);
    }

    @Test
    void benchIsStartedByTheSameCode() throws Exception {
        Result result = finish(start(root.resolve("bench/run").toString(), "link", "--quick"));
        assertThat(result.exit()).isZero();
        assertThat(result.out()).endsWith("[io.holdfast.bench.BenchCommand] [link] [--quick] ");
    }

    @Test
    void withoutAJdk25ItSaysWhatToInstall() throws Exception {
        environment.put("HOLDFAST_JDKS", folder.resolve("none").toString());
        environment.put("JAVA_HOME", folder.resolve("jdks/jdk-17").toString());
        Result result = run("doctor");
        assertThat(result.exit()).isEqualTo(3);
        assertThat(result.err()).hasLineCount(1).contains("no JDK 25 or newer", "install one", "JAVA_HOME");
        assertThat(builds()).isZero();
    }

    @Test
    void javaHomeIsPreferred() throws Exception {
        jdk("../elsewhere/jdk-26", "26");
        environment.put("JAVA_HOME", folder.resolve("elsewhere/jdk-26").toString());
        run("doctor");
        assertThat(Files.readString(root.resolve("app/target/launch/java"))).contains("jdk-26");
    }

    @Test
    void aJdkThatWentAwayIsLookedForAgain() throws Exception {
        jdk("jdk-25-other", "25.0.2");
        run("doctor");
        Files.delete(folder.resolve("jdks/jdk-25/release"));
        Result result = run("doctor");
        assertThat(result.exit()).isZero();
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void withoutMavenItSaysWhatToInstall() throws Exception {
        Files.delete(folder.resolve("tools/mvn"));
        Result result = run("doctor");
        assertThat(result.exit()).isEqualTo(3);
        assertThat(result.err()).hasLineCount(1).contains("Maven is needed", "install Maven");
    }

    @ParameterizedTest
    @CsvSource({
        "1, COMPILATION ERROR, the build failed",
        "1, write failed: No space left on device, no space left for the build",
        "4, Could not transfer artifact x from y: Connection refused, cannot download",
    })
    void aFailedBuildIsOneLineThatNamesTheLog(int exit, String failure, String line) throws Exception {
        environment.put("FAKE_FAILURE", failure);
        Result result = run("doctor");
        assertThat(result.exit()).isEqualTo(exit);
        assertThat(lastLine(result.err())).startsWith("holdfast: ").contains(line, "; ");
        assertThat(result.err()).hasLineCount(2).doesNotContain("[ERROR]");
        assertThat(run("doctor", "--verbose").err()).contains("[ERROR] " + failure);
    }

    @Test
    void aFailureIsJsonWhenAskedFor() throws Exception {
        environment.put("FAKE_FAILURE", "Could not transfer artifact");
        Result result = run("doctor", "--json");
        JsonObject error =
                JsonParser.parseString(result.out()).getAsJsonObject().getAsJsonObject("error");
        assertThat(error.keySet()).containsExactly("category", "message", "action");
        assertThat(error.get("category").getAsString()).isEqualTo("RETRY");
    }

    @Test
    void aFullDiskIsSeenBeforeTheBuild() throws Exception {
        // A limit on the size of files stands for a full disk: the trial write fails.
        Result result = finish(start(
                "bash",
                "-c",
                "ulimit -f 8; exec \"$0\" doctor",
                root.resolve("holdfast").toString()));
        assertThat(result.exit()).isEqualTo(1);
        assertThat(lastLine(result.err())).contains("no space left for the build", "make some room");
        assertThat(builds()).isZero();
    }

    @Test
    void aFailedBuildIsTriedAgainTheNextTime() throws Exception {
        environment.put("FAKE_FAILURE", "COMPILATION ERROR");
        run("doctor");
        environment.remove("FAKE_FAILURE");
        assertThat(run("doctor").exit()).isZero();
        assertThat(builds()).isEqualTo(2);
    }
}
