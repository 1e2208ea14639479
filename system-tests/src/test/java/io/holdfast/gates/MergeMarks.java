package io.holdfast.gates;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Halves of a merge that nobody has decided between. */
final class MergeMarks {

    private static final Pattern MARK = Pattern.compile("(?m)^(<{7} |>{7} |={7}$).*");

    private MergeMarks() {}

    static List<String> in(SourceTree tree) {
        List<String> findings = new ArrayList<>();
        for (Path file : tree.files(".java", ".md", ".xml", ".lua", ".bash", ".proto", ".properties")) {
            Matcher mark = MARK.matcher(SourceTree.text(file));
            if (mark.find()) {
                findings.add(tree.name(file) + " has an undecided merge");
            }
        }
        return findings;
    }
}
