package io.holdfast.app.cli;

/** Nobody reads the output any more ({@code | head}): the command ends, and there is nothing to say about it. */
final class ClosedOutput extends RuntimeException {

    private static final long serialVersionUID = 1;

    ClosedOutput() {
        super("standard output is closed", null, false, false);
    }
}
