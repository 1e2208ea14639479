package io.holdfast.bench;

/**
 * One subject that is measured side by side with its peers. A suite runs all contenders in the same process run, round
 * by round, and reports rows; it asserts nothing.
 */
public interface Suite {

    /** The word on the command line. */
    String name();

    /** One line for people. */
    String description();

    void measure(Run run) throws Exception;
}
