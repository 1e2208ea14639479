package io.holdfast.sweep.manager;

/** Ends a simulated process at once. No code of the product catches it, as none catches a kill. */
final class Killed extends Error {
    private static final long serialVersionUID = 1;

    Killed(String who) {
        super(who);
    }
}
