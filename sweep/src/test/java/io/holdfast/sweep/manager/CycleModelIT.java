package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The model of signing, failover and restart in {@code docs/design/cycle.als}: what it checks holds, and each rule that is
 * left out is missed. On demand, with {@code -Pmodel}, which fetches Alloy; in its own process, since its jar has half the
 * world in it.
 */
class CycleModelIT {

    private static final Path ALLOY = Path.of("target", "model", "alloy.jar");
    private static final Path MODEL = Path.of("..", "docs", "design", "cycle.als");
    private static final Pattern RESULT = Pattern.compile("\\d+\\. (?:run|check)\\s+(\\w+)\\s.*?\\b(SAT|UNSAT)");

    @TempDir
    private Path folder;

    @Test
    void theModelHoldsAndEveryRuleLeftOutIsMissed() throws Exception {
        assumeThat(ALLOY).as("on demand: -Pmodel").exists();
        assertThat(results())
                .isEqualTo(new TreeMap<>(Map.ofEntries(
                        Map.entry("Sanity", "SAT"),
                        Map.entry("SanityEmptied", "SAT"),
                        Map.entry("Sound", "UNSAT"),
                        Map.entry("KeptFromLiar", "UNSAT"),
                        Map.entry("KeptFromReuse", "UNSAT"),
                        Map.entry("FindsSignsUncompared", "SAT"),
                        Map.entry("FindsDigestIgnored", "SAT"),
                        Map.entry("FindsPutKeepsAge", "SAT"),
                        Map.entry("FindsSparesNothing", "SAT"),
                        Map.entry("FindsBooksLost", "SAT"),
                        Map.entry("FindsEmptiesUnconfirmed", "SAT"),
                        Map.entry("FindsConfirmsAtOnce", "SAT"))));
    }

    /** SAT: there is an instance, or a counterexample. UNSAT: there is none within the scope. */
    private Map<String, String> results() throws IOException, InterruptedException {
        Process alloy = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-jar",
                        ALLOY.toString(),
                        "exec",
                        "-t",
                        "none",
                        "-o",
                        folder.resolve("out").toString(),
                        "-c",
                        "*",
                        MODEL.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(alloy.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(alloy.waitFor()).as(said).isZero();
        Map<String, String> results = new TreeMap<>();
        Matcher line = RESULT.matcher(said);
        while (line.find()) {
            results.put(line.group(1), line.group(2));
        }
        return results;
    }
}
