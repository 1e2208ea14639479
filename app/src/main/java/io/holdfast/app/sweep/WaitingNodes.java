package io.holdfast.app.sweep;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.node.Verdict;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The nodes that wait for an operator, in a report that a cycle wrote with {@code --json}. */
final class WaitingNodes {

    private WaitingNodes() {}

    /** Names and numbers; MISUSE unless the report is about this cycle. */
    static Map<String, Long> read(Path report, OwnerId owner, long cycle) throws IOException {
        if (!Files.isRegularFile(report)) {
            throw new HoldfastException(
                    Category.GONE, "there is no report " + report, "write one: holdfast sweep run --json > FILE", null);
        }
        Map<String, Long> waiting = new LinkedHashMap<>();
        try {
            JsonObject told = JsonParser.parseString(Files.readString(report, StandardCharsets.UTF_8))
                    .getAsJsonObject();
            String of = told.get("owner").getAsString();
            long number = told.get("cycle").getAsLong();
            if (!of.equals(owner.name()) || number != cycle) {
                throw HoldfastException.misuse(
                        report + " is about cycle " + number + " of " + of + ", and not cycle " + cycle + " of "
                                + owner,
                        "name the report of the cycle that is to be approved");
            }
            for (JsonElement line : told.getAsJsonArray("nodes")) {
                JsonObject node = line.getAsJsonObject();
                if (isWaiting(node)) {
                    waiting.put(
                            node.get("node").getAsString(),
                            node.get("wouldTrash").getAsLong());
                }
            }
        } catch (JsonParseException | IllegalStateException | NullPointerException | NumberFormatException e) {
            throw HoldfastException.misuse(
                    report + " is no report of a cycle: " + e.getMessage(), "write one with holdfast sweep run --json");
        }
        if (waiting.isEmpty()) {
            throw HoldfastException.misuse("no node waits for an operator in " + report, "there is nothing to approve");
        }
        return waiting;
    }

    /** A report of a fleet says it; one of folders has the verdict alone. */
    private static boolean isWaiting(JsonObject node) {
        if (node.has("state") && !node.get("state").getAsString().equals("waiting")) {
            return false;
        }
        String word = node.get("verdict").getAsString();
        for (Verdict verdict : Verdict.values()) {
            if (verdict.name().toLowerCase(Locale.ROOT).replace('_', '-').equals(word)) {
                return verdict.approvable();
            }
        }
        return false;
    }
}
