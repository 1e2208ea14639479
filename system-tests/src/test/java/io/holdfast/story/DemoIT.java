package io.holdfast.story;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The first command of the README tells all chapters, and every claim holds. */
class DemoIT {

    @TempDir
    Path folder;

    @Test
    void everyClaimOfTheDemoHoldsAndWhatIsKeptCanBeLookedAt() {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        ExitCode code = run(out, err, "demo", "--json", "--keep", folder.toString());
        assertThat(code).as(err.toString()).isEqualTo(ExitCode.OK);
        JsonObject answer = JsonParser.parseString(out.toString()).getAsJsonObject();
        assertThat(answer.get("chapters").getAsJsonArray()).hasSize(5);
        for (JsonElement chapter : answer.get("chapters").getAsJsonArray()) {
            assertThat(chapter.getAsJsonObject().get("ok").getAsBoolean())
                    .as(chapter.toString())
                    .isTrue();
            assertThat(chapter.getAsJsonObject()
                            .get("figures")
                            .getAsJsonObject()
                            .size())
                    .isPositive();
        }
        assertThat(err.toString()).contains("holdfast why", "for comparison");
        String nodes = folder.resolve("n1") + "," + folder.resolve("n2");
        assertThat(run(out, err, "sweep", "status", "--nodes", nodes)).isEqualTo(ExitCode.OK);
        assertThat(run(out, err, "cache", "audit", folder.resolve("cache").toString()))
                .isEqualTo(ExitCode.OK);
        assertThat(Files.exists(folder.resolve("database.mv.db"))).isTrue();
    }

    private static ExitCode run(StringWriter out, StringWriter err, String... arguments) {
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(arguments);
    }
}
