package io.holdfast.gates;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Links between pages, and pages named in code, that lead nowhere. */
final class DeadLinks {

    private static final Pattern LINK = Pattern.compile("\\[[^\\]\\n]*]\\(([^)\\s]+)\\)");
    private static final Pattern PAGE_IN_CODE = Pattern.compile("\\b(docs/[A-Za-z0-9/_-]+\\.md)\\b");
    private static final Pattern FENCE = Pattern.compile("(?ms)^```.*?^```");

    private DeadLinks() {}

    static List<String> in(SourceTree tree) {
        List<String> findings = new ArrayList<>();
        for (Path page : tree.files(".md")) {
            Matcher link = LINK.matcher(FENCE.matcher(SourceTree.text(page)).replaceAll(""));
            while (link.find()) {
                if (!leadsSomewhere(page, link.group(1))) {
                    findings.add(tree.name(page) + " links to " + link.group(1) + ", which is not there");
                }
            }
        }
        for (Path source : tree.files(".java", ".lua", ".bash")) {
            if (tree.name(source).contains("src/test/")) {
                continue; // samples of tests name what is not there
            }
            Matcher mention = PAGE_IN_CODE.matcher(SourceTree.text(source));
            while (mention.find()) {
                if (!Files.exists(tree.root().resolve(mention.group(1)))) {
                    findings.add(tree.name(source) + " names " + mention.group(1) + ", which is not there");
                }
            }
        }
        return findings;
    }

    private static boolean leadsSomewhere(Path page, String target) {
        if (target.contains("://") || target.startsWith("mailto:")) {
            return true;
        }
        int hash = target.indexOf('#');
        String path = hash < 0 ? target : target.substring(0, hash);
        Path file = path.isEmpty() ? page : page.resolveSibling(path);
        if (!Files.exists(file)) {
            return false;
        }
        return hash < 0 || !file.toString().endsWith(".md") || hasHeading(file, target.substring(hash + 1));
    }

    private static boolean hasHeading(Path page, String anchor) {
        return SourceTree.text(page)
                .lines()
                .filter(line -> line.startsWith("#"))
                .map(line -> line.replaceFirst("^#+\\s*", "")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .anyMatch(anchor::equals);
    }
}
