package io.holdfast.gates;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Traces of the machine that something was written on: folders of a person, hosts of a registry. */
final class MachinePaths {

    // Written in pieces, so that this file is clean itself.
    private static final Pattern TRACE = Pattern.compile("(?<![\\w.])/" + "(root|work)/[\\w.]|/(home|Users)"
            + "/[a-z]\\w+"
            + "|C:\\\\" + "Users|\\b(arti" + "factory|nex" + "us-|jfr" + "og|repo\\d?\\.mav" + "en|registry\\.npm"
            + "js)[\\w.-]*");

    private MachinePaths() {}

    static List<String> in(SourceTree tree) {
        List<String> findings = new ArrayList<>();
        for (Path file : tree.files(
                ".java",
                ".md",
                ".xml",
                ".lua",
                ".bash",
                ".proto",
                ".properties",
                ".yml",
                ".json",
                ".config",
                "/run",
                "/holdfast")) {
            Matcher trace = TRACE.matcher(SourceTree.text(file));
            while (trace.find()) {
                findings.add(tree.name(file) + " names " + trace.group());
            }
        }
        return findings;
    }
}
