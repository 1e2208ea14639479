package io.holdfast.gates;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import picocli.CommandLine;

/** Words that the vocabulary replaces, found in names that users see: public types and members, commands, options. */
final class BannedWords {

    private static final Set<String> EVERYWHERE = Set.of(
            "ref", "refs", "unref", "pin", "pins", "unpin", "pinned", "expire", "expires", "expired", "purge", "purged",
            "gc", "util", "utils", "helper", "helpers", "impl");

    /** Words of the sweep: its manager builds filters, its pieces have an owner. */
    private static final Set<String> OUTSIDE_SWEEP = Set.of("owner", "owners", "manager", "managers");

    /** Names that protoc chose. */
    private static final String GENERATED = "io.holdfast.sweep.proto";

    private static final Pattern WORDS =
            Pattern.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+");

    private BannedWords() {}

    static List<String> in(JavaClasses classes) {
        List<String> findings = new ArrayList<>();
        for (JavaClass type : classes) {
            boolean sweep = type.getPackageName().startsWith("io.holdfast.sweep")
                    || type.getPackageName().startsWith("io.holdfast.app.sweep")
                    || type.isAssignableTo("io.holdfast.sweep.catalogue.Catalogue");
            if (!isPublic(type) || type.getPackageName().equals(GENERATED)) {
                continue;
            }
            check(type.getPackageName(), sweep, type.getPackageName(), findings);
            check(type.getSimpleName(), sweep, type.getName(), findings);
            for (JavaMember member : type.getMembers()) {
                if (member.getModifiers().contains(JavaModifier.PUBLIC)
                        && !member.getModifiers().contains(JavaModifier.SYNTHETIC)) {
                    check(member.getName(), sweep, member.getFullName(), findings);
                }
            }
        }
        return findings.stream().distinct().toList();
    }

    /** With all the types around it: what is public inside a hidden type is hidden. */
    private static boolean isPublic(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && type.getEnclosingClass().map(BannedWords::isPublic).orElse(true);
    }

    static List<String> inCommands() {
        List<String> findings = new ArrayList<>();
        check(Cli.commandLine(new HoldfastCommands()), findings);
        return findings;
    }

    private static void check(CommandLine commandLine, List<String> findings) {
        String name = commandLine.getCommandSpec().qualifiedName(" ");
        boolean sweep = name.startsWith("holdfast sweep");
        check(commandLine.getCommandName(), sweep, name, findings);
        commandLine.getCommandSpec().options().forEach(option -> {
            for (String word : option.names()) {
                check(word, sweep, name + " " + word, findings);
            }
        });
        commandLine.getSubcommands().values().forEach(sub -> check(sub, findings));
    }

    private static void check(String name, boolean sweep, String where, List<String> findings) {
        for (String word : WORDS.split(name, 0)) {
            String lower = word.toLowerCase(Locale.ROOT);
            if (EVERYWHERE.contains(lower) || (!sweep && OUTSIDE_SWEEP.contains(lower))) {
                findings.add("'" + lower + "' in " + where + "; see docs/vocabulary.md");
            }
        }
    }
}
