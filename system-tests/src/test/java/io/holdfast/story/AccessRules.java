package io.holdfast.story;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The access rules that docs/operating.md tells operators to set, as a server takes them. */
final class AccessRules {

    private static final Pattern BLOCK = Pattern.compile("(?s)```\nACL SETUSER holdfast on >PASSWORD (.*?)\n```");

    private AccessRules() {}

    static List<String> ofThePage() throws IOException {
        Path page = Path.of(System.getProperty("holdfast.root"), "docs", "operating.md");
        Matcher block = BLOCK.matcher(Files.readString(page));
        if (!block.find()) {
            throw new AssertionError("docs/operating.md has no block that begins with ACL SETUSER holdfast");
        }
        return Arrays.asList(block.group(1).replace('\\', ' ').strip().split("\\s+"));
    }
}
