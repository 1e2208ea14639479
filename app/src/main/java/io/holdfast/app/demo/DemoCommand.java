package io.holdfast.app.demo;

import io.holdfast.HoldfastException;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.verify.SystemVerify;
import io.holdfast.embedded.ScratchFolder;
import io.holdfast.redis.Holdfast;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The story, told and checked. */
@Command(
        name = "demo",
        description = {
            "Tell what Holdfast does in five short chapters, with figures measured as you watch.",
            "Runs on an embedded Redis and storage nodes in a folder, needs nothing installed and leaves nothing"
                    + " behind.",
            "Exit code 1 if a claim does not hold.",
        },
        footer = {
            "  holdfast demo",
            "  holdfast demo --keep /tmp/holdfast-demo",
            "  holdfast demo --json",
        })
public final class DemoCommand extends CliCommand {

    @Option(
            names = "--keep",
            paramLabel = "DIR",
            description = "Work in this new or empty folder, and leave everything there.")
    private @Nullable Path keep;

    @Override
    protected Answer run(Console console) throws Exception {
        refuseUsed(keep);
        Path folder = keep == null ? Files.createTempDirectory("holdfast-demo") : Files.createDirectories(keep);
        if (keep != null) {
            return tell(console, folder.toAbsolutePath());
        }
        // Also when it is interrupted; the embedded server ends with this process.
        Thread remove = Thread.ofPlatform().unstarted(() -> ScratchFolder.remove(folder));
        Runtime.getRuntime().addShutdownHook(remove);
        return tell(console, folder.toAbsolutePath());
    }

    /** What an earlier demo left would be part of this one's story. */
    private static void refuseUsed(@Nullable Path folder) throws IOException {
        if (folder != null && Files.isDirectory(folder)) {
            try (Stream<Path> inside = Files.list(folder)) {
                if (inside.findAny().isPresent()) {
                    throw HoldfastException.misuse("--keep " + folder + " is not empty", "name a new or empty folder");
                }
            }
        }
    }

    private Answer tell(Console console, Path folder) throws Exception {
        List<Map<String, @Nullable Object>> told = new ArrayList<>();
        List<String> failures = new ArrayList<>();
        long begun = System.nanoTime();
        try (Holdfast holdfast = Holdfast.embedded(folder.resolve("redis"))) {
            console.say("An embedded Redis is up at " + holdfast.where() + ". Five chapters:");
            int number = 0;
            for (Chapter chapter : chapters()) {
                number++;
                console.say("");
                console.say(number + ". " + chapter.title());
                Stage stage = new Stage(holdfast, folder, console);
                long before = System.nanoTime();
                try {
                    chapter.tell(stage);
                } catch (Exception e) {
                    stage.claim(false, "the chapter was told to its end: " + e);
                }
                failures.addAll(stage.failures());
                told.add(result(chapter, stage, Duration.ofMillis((System.nanoTime() - before) / 1_000_000)));
            }
            console.say("");
            verify(holdfast, console, failures);
        }
        Duration took = Duration.ofMillis((System.nanoTime() - begun) / 1_000_000);
        return answer(told, failures, took, folder);
    }

    static List<Chapter> chapters() {
        return List.of(
                new GraphChapter(),
                new SessionsChapter(),
                new AggregatesChapter(),
                new SweepChapter(),
                new CacheChapter());
    }

    private static Map<String, @Nullable Object> result(Chapter chapter, Stage stage, Duration took) {
        Map<String, @Nullable Object> result = new LinkedHashMap<>();
        result.put("chapter", chapter.title());
        result.put("ok", stage.failures().isEmpty());
        result.put("failures", stage.failures());
        result.put("figures", stage.figures());
        result.put("took", took);
        return result;
    }

    private static void verify(Holdfast holdfast, Console console, List<String> failures) {
        List<SystemVerify.Part> parts = new SystemVerify(holdfast.where(), (phase, done, total) -> {})
                .everythingOnRedis()
                .parts();
        for (SystemVerify.Part part : parts) {
            if (!part.isSound()) {
                failures.add("verify " + part.part() + ": " + part.findings() + part.failure());
            }
        }
        console.say("$ holdfast verify: " + parts.size() + " parts, "
                + (parts.stream().allMatch(SystemVerify.Part::isSound) ? "all sound" : "NOT all sound"));
    }

    private Answer answer(List<Map<String, @Nullable Object>> told, List<String> failures, Duration took, Path folder) {
        Answer answer = failures.isEmpty() ? Answer.ok() : Answer.finding();
        answer.field("ok", failures.isEmpty())
                .field("took", took)
                .field("chapters", told)
                .field("failures", failures);
        answer.line("");
        answer.line(
                failures.isEmpty()
                        ? "Every claim held, in " + took.toSeconds() + " s. Next:"
                        : failures.size() + " claims did not hold, see above.");
        if (keep == null) {
            answer.line("  ./holdfast doctor --redis redis://localhost:6379    is a server of yours fit for it?");
            answer.line(
                    "  ./holdfast demo --keep DIR                          the same, and everything stays to look at");
        } else {
            answer.line("  ./holdfast sweep status --nodes " + folder.resolve("n1") + "," + folder.resolve("n2"));
            answer.line("  ./holdfast cache stats " + folder.resolve("cache"));
        }
        return answer.line("  ./holdfast --help                                   all commands")
                .line("  docs/which-part.md                                  which of the five do you need?");
    }
}
