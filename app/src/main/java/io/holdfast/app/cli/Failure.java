package io.holdfast.app.cli;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;

/**
 * Why a command did not do its work, in the one form that all commands share: a category for code, one line for people,
 * and what to do.
 *
 * @param category a {@link Category}, or BUG
 */
record Failure(ExitCode code, String category, String message, String action) {

    private static final Pattern WRONG_ENUM =
            Pattern.compile("expected one of \\[(.*?)] \\(case-insensitive\\) but was '(.*)'");

    Failure {
        message = oneLine(message);
        action = oneLine(action);
    }

    static Failure of(Throwable failure) {
        return switch (failure) {
            case CommandLine.ParameterException usage -> ofUsage(usage);
            case HoldfastException ours -> of(ours.category(), String.valueOf(ours.getMessage()), ours.action());
            case UncheckedIOException wrapped -> ofFile(Objects.requireNonNull(wrapped.getCause()));
            case IOException file -> ofFile(file);
            default ->
                new Failure(
                        ExitCode.BUG,
                        "BUG",
                        "a bug in holdfast: " + failure,
                        "run it again with --verbose and report the whole output");
        };
    }

    private static Failure of(Category category, String message, String action) {
        return new Failure(ExitCode.of(category), category.name(), message, action);
    }

    private static Failure ofFile(IOException failure) {
        String reason = failure instanceof FileSystemException file && file.getReason() != null
                ? file.getReason()
                : String.valueOf(failure.getMessage());
        if (reason.contains("No space left")) {
            return of(Category.FULL, name(failure) + "no space left on the device", "make room and run it again");
        }
        if (reason.contains("Is a directory")) {
            return of(Category.MISUSE, name(failure) + "it is a folder", "give the path of a file");
        }
        return switch (failure) {
            case NoSuchFileException _ -> of(Category.GONE, name(failure) + "no such file or folder", "check the path");
            case AccessDeniedException _ ->
                of(Category.MISUSE, name(failure) + "not permitted", "check the permissions, or give another path");
            case FileAlreadyExistsException _ ->
                of(Category.MISUSE, name(failure) + "exists already", "give another path, or remove it first");
            case NotDirectoryException _ ->
                of(Category.MISUSE, name(failure) + "not a folder", "give the path of a folder");
            default -> of(Category.RETRY, name(failure) + reason, Category.RETRY.action());
        };
    }

    private static String name(IOException failure) {
        return failure instanceof FileSystemException file && file.getFile() != null ? file.getFile() + ": " : "";
    }

    private static Failure ofUsage(CommandLine.ParameterException usage) {
        CommandLine commandLine = usage.getCommandLine();
        String seeHelp = "see '" + commandLine.getCommandSpec().qualifiedName(" ") + " --help'";
        String message = String.valueOf(usage.getMessage());
        String action = seeHelp;
        if (usage instanceof CommandLine.UnmatchedArgumentException unmatched) {
            message = unmatchedText(unmatched);
            List<String> near = NearWords.of(unmatched.getUnmatched().getFirst(), commandLine);
            if (!near.isEmpty()) {
                action = "did you mean " + String.join(" or ", near) + "? " + seeHelp;
            }
        }
        return of(Category.MISUSE, lowerFirst(inOurWords(message)), action);
    }

    /** Picocli's words for a wrong value, without Java's types and the places of parameters. */
    private static String inOurWords(String message) {
        return WRONG_ENUM
                .matcher(message)
                .replaceAll(found -> Matcher.quoteReplacement(
                        "'" + found.group(2) + "' is none of " + found.group(1).toLowerCase(Locale.ROOT)))
                .replaceAll("positional parameters? at index [0-9.*+]+ \\(([^)]*)\\)", "$1")
                .replaceAll("' is not an? (int|long|Integer|Long)$", "' is not a whole number")
                .replaceAll(
                        "(?i)^value for option (option )?('.*?') \\((.*?)\\) should be in .* but was (.*)$",
                        "invalid value for option $2: '$4' is not $3");
    }

    private static String unmatchedText(CommandLine.UnmatchedArgumentException unmatched) {
        String given = unmatched.getUnmatched().getFirst();
        if (unmatched.isUnknownOption()) {
            return "unknown option '" + given + "'";
        }
        boolean group = !unmatched.getCommandLine().getSubcommands().isEmpty();
        return (group ? "unknown command '" : "unexpected argument '") + given + "'";
    }

    private static String lowerFirst(String text) {
        return text.isEmpty() ? text : text.substring(0, 1).toLowerCase(Locale.ROOT) + text.substring(1);
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s*[\\r\\n]+\\s*", " ").replaceAll("\\.$", "");
    }

    /** As people read it. */
    String line(String program) {
        return program + ": " + message + "; " + action;
    }

    /** As programs read it. */
    Map<String, @Nullable Object> json() {
        return Map.of("error", new Shape(category, message, action));
    }

    private record Shape(String category, String message, String action) {}
}
