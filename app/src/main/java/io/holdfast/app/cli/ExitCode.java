package io.holdfast.app.cli;

import io.holdfast.HoldfastException;

/** What a finished command tells the shell. */
public enum ExitCode {
    OK(0, "done"),
    FINDING(1, "done, and something is wrong: a problem, a mismatch, no room, a lapsed hold"),
    USAGE(2, "the command line or a setting is wrong; nothing was done"),
    NOT_FOUND(3, "the thing, the file or the name does not exist"),
    UNREACHABLE(4, "the store does not answer; the same command may work later"),
    CORRUPT(5, "stored data is not what it should be"),
    BUG(70, "a bug of ours");

    private final int code;
    private final String meaning;

    ExitCode(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
    }

    public int code() {
        return code;
    }

    /** For people. */
    public String meaning() {
        return meaning;
    }

    /** The exit code that stands for a category of failure. */
    public static ExitCode of(HoldfastException.Category category) {
        return switch (category) {
            case RETRY -> UNREACHABLE;
            case LAPSED, FULL -> FINDING;
            case GONE -> NOT_FOUND;
            case MISUSE -> USAGE;
            case CORRUPT -> CORRUPT;
        };
    }
}
