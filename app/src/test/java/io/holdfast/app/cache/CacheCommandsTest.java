package io.holdfast.app.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheCommandsTest {

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private ExitCode run(String... words) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(words);
    }

    private String file() {
        return directory.resolve("pages").toString();
    }

    @Test
    void valueIsPutShownAndRemoved() {
        assertThat(run("cache", "put", file(), "front", "hello", "--create", "2MiB"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("stored as version");
        assertThat(run("cache", "get", file(), "front")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).isEqualToIgnoringNewLines("hello");
        assertThat(run("cache", "get", file(), "front", "--namespace", "other")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("cache", "remove", file(), "front")).isEqualTo(ExitCode.OK);
        assertThat(run("cache", "remove", file(), "front")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(err.toString()).contains("no value under 'front'");
    }

    @Test
    void lookingChangesNothing() {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("1 values", "adaptive");
        assertThat(run("cache", "top", file(), "--by", "version")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("front");
        assertThat(run("cache", "map", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("pages by slot", "pages by age", "a.");
        assertThat(run("cache", "watch", file(), "--every", "1ms", "--times", "2"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("ratio");
        assertThat(run("cache", "audit", file(), "--json")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("\"clean\":true");
    }

    @Test
    void absentCacheIsNotFoundAndNotCreated() {
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(directory.toFile().list()).isEmpty();
    }
}
