package io.holdfast;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Every failure that Holdfast reports. The {@link Category} is for code: it says what the caller should do. The message
 * is for people: one line that names what was given and what is allowed, and {@link #action()} says what to do about
 * it.
 */
public final class HoldfastException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** What the caller should do. */
    public enum Category {
        /** Nothing is known to be wrong but the moment: do the same again, after a pause. */
        RETRY("try again after a short pause"),
        /** The lease behind the call has lapsed: take a new hold and start from there. */
        LAPSED("take a new hold and repeat the work under it"),
        /** The thing was reclaimed or never existed: do not ask again. */
        GONE("check the id; ask 'holdfast why' for the reason"),
        /** There is no room: make some, or wait until reclaiming has. */
        FULL("give the store more room, or release something and wait"),
        /** The call cannot be right: change the caller. */
        MISUSE("correct the call"),
        /** Stored data is not what it should be: stop, and verify. */
        CORRUPT("stop writing and run verify");

        private final String action;

        Category(String action) {
            this.action = action;
        }

        /** What to do, as a phrase for people. */
        public String action() {
            return action;
        }
    }

    private final Category category;
    private final String action;

    public HoldfastException(Category category, String message) {
        this(category, message, category.action(), null);
    }

    public HoldfastException(Category category, String message, @Nullable Throwable cause) {
        this(category, message, category.action(), cause);
    }

    public HoldfastException(Category category, String message, String action, @Nullable Throwable cause) {
        super(message, cause);
        this.category = Objects.requireNonNull(category);
        this.action = Objects.requireNonNull(action);
    }

    /** A call that cannot be right, with what is allowed instead. */
    public static HoldfastException misuse(String message, String action) {
        return new HoldfastException(Category.MISUSE, message, action, null);
    }

    public Category category() {
        return category;
    }

    /** What to do, for people. */
    public String action() {
        return action;
    }

    /** The category, the message and what to do, so that logs have all of it. {@link #getMessage} is the message alone. */
    @Override
    @SuppressWarnings("OverrideThrowableToString") // commands print the message and the action on lines of their own
    public String toString() {
        return getClass().getName() + ": " + category + ": " + getMessage() + "; " + action;
    }

    /** Whether the same call may be made again. */
    public boolean isRetryable() {
        return category == Category.RETRY;
    }
}
