package io.holdfast.app.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine;

/** The options or commands that someone who mistyped one may have meant. */
final class NearWords {

    private static final int MOST = 3;

    private NearWords() {}

    static List<String> of(String given, CommandLine commandLine) {
        String word = given.contains("=") ? given.substring(0, given.indexOf('=')) : given;
        List<String> known = new ArrayList<>();
        if (word.startsWith("-")) {
            for (CommandLine.Model.OptionSpec option :
                    commandLine.getCommandSpec().options()) {
                if (!option.hidden()) {
                    known.add(option.longestName());
                }
            }
        } else {
            known.addAll(commandLine.getSubcommands().keySet());
        }
        int limit = Math.max(word.length() > 3 ? 2 : 1, word.length() / 3);
        return known.stream()
                .filter(candidate -> distance(word, candidate) <= limit || isStart(word, candidate))
                .sorted(Comparator.comparingInt(candidate -> distance(word, candidate)))
                .limit(MOST)
                .toList();
    }

    private static boolean isStart(String word, String candidate) {
        return word.length() >= 3 && candidate.startsWith(word);
    }

    /** Least number of letters to add, drop, replace or swap with a neighbour. */
    static int distance(String a, String b) {
        int[][] cost = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    cost[i][j] = i + j;
                    continue;
                }
                int replace = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                cost[i][j] = Math.min(Math.min(cost[i - 1][j], cost[i][j - 1]) + 1, cost[i - 1][j - 1] + replace);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    cost[i][j] = Math.min(cost[i][j], cost[i - 2][j - 2] + 1);
                }
            }
        }
        return cost[a.length()][b.length()];
    }
}
