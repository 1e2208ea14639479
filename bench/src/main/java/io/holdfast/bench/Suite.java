package io.holdfast.bench;

import java.util.Set;

/**
 * One subject that is measured side by side with its peers. A suite runs all contenders in the same process run, round
 * by round, and reports rows; it asserts nothing.
 */
public interface Suite {

    /** The word on the command line. */
    String name();

    /** One line for people. */
    String description();

    /** What can be measured alone, by name; none if the suite is always measured as a whole. */
    default Set<String> parts() {
        return Set.of();
    }

    void measure(Run run) throws Exception;
}
