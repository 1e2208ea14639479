package io.holdfast.testkit;

import io.holdfast.testkit.FaultProxy.Direction;
import java.util.Locale;

/** A fault of {@link FaultProxy} that strikes once. Guarded by the lock of its {@link Line}. */
final class Fault {

    enum Kind {
        TRUNCATE,
        DROP_REPLY,
        DROP_REQUEST
    }

    private final Kind kind;
    private final Direction direction;
    private final String command;
    private long left;

    private Fault(Kind kind, Direction direction, String command, long left) {
        this.kind = kind;
        this.direction = direction;
        this.command = command.toUpperCase(Locale.ROOT);
        this.left = left;
    }

    static Fault truncate(Direction direction, long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("a connection cannot end after " + bytes + " bytes");
        }
        return new Fault(Kind.TRUNCATE, direction, "", bytes);
    }

    static Fault dropReply(String command, int nth) {
        return new Fault(Kind.DROP_REPLY, Direction.TO_CLIENT, command, atLeastOne(nth));
    }

    static Fault dropRequest(String command, int nth) {
        return new Fault(Kind.DROP_REQUEST, Direction.TO_SERVER, command, atLeastOne(nth));
    }

    Kind kind() {
        return kind;
    }

    /** Whether this request is the one. */
    boolean isVictim(String name) {
        return kind != Kind.TRUNCATE
                && left > 0
                && (command.isEmpty() || command.equals(name.toUpperCase(Locale.ROOT)))
                && --left == 0;
    }

    /** How many of these bytes still arrive. */
    int allowed(Direction way, int bytes) {
        if (kind != Kind.TRUNCATE || way != direction) {
            return bytes;
        }
        int allowed = (int) Math.min(left, bytes);
        left -= allowed;
        return allowed;
    }

    private static int atLeastOne(int nth) {
        if (nth < 1) {
            throw new IllegalArgumentException("requests are counted from 1, not " + nth);
        }
        return nth;
    }
}
