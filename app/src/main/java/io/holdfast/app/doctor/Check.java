package io.holdfast.app.doctor;

import org.jspecify.annotations.Nullable;

/**
 * One line of the doctor's report.
 *
 * @param found what was seen
 * @param action what to do about it; null when all is well
 */
record Check(
        Status status, String check, String found, @Nullable String action) {

    enum Status {
        OK,
        /** It works, and will bite some day. */
        WARNING,
        /** It does not work. */
        PROBLEM
    }

    static Check ok(String check, String found) {
        return new Check(Status.OK, check, found, null);
    }

    static Check warning(String check, String found, String action) {
        return new Check(Status.WARNING, check, found, action);
    }

    static Check problem(String check, String found, String action) {
        return new Check(Status.PROBLEM, check, found, action);
    }
}
