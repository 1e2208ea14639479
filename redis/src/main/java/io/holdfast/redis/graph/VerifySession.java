package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.InspectionScripts.Watched;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The time from the beginning to the end of one verify, in which every script of the graph notes what it changes. Notes
 * are fetched while the verifier works, so that on the server only a few wait at a time.
 */
final class VerifySession implements AutoCloseable {

    private static final Logger LOG = System.getLogger(VerifySession.class.getName());

    /** After so long without a word from the verifier, nobody notes for it any more. */
    private static final long LEASE_MILLIS = 60_000;

    private static final int PAGES_BETWEEN_FETCHES = 16;
    private static final int FETCHES_AT_A_TIME = 16;
    private static final byte[] START = {'0'};
    private static final SecureRandom RANDOM = new SecureRandom();

    private final InspectionScripts scripts;
    private final String token = HexFormat.of().toHexDigits(RANDOM.nextLong());
    private final Consumer<byte[]> notes;
    private final String run;
    private byte[] cursor = START;
    private List<byte @Nullable []> seen = List.of();
    private int pages;
    private String voided = "";

    private VerifySession(InspectionScripts scripts, String graph, Consumer<byte[]> notes) {
        this.scripts = scripts;
        this.notes = notes;
        Watched begun = call("begin");
        if (begun.status().equals("BUSY")) {
            throw new HoldfastException(
                    Category.RETRY,
                    "another verify of graph " + graph + " is running",
                    "wait for it; one that died is over after " + LEASE_MILLIS / 1_000 + " s",
                    null);
        }
        this.run = begun.run();
    }

    /** Begins; {@code notes} is told of every id and lease that changes from now on. */
    static VerifySession begin(InspectionScripts scripts, String graph, Consumer<byte[]> notes) {
        return new VerifySession(scripts, graph, notes);
    }

    String token() {
        return token;
    }

    /** Why there can be no verdict; empty as long as there can. */
    String voided() {
        return voided;
    }

    /** Called after every page that the verifier has read: from time to time fetches the notes. */
    void page() {
        if (++pages % PAGES_BETWEEN_FETCHES == 0) {
            for (int i = 0; i < FETCHES_AT_A_TIME && voided.isEmpty(); i++) {
                if (fetch()) {
                    return;
                }
            }
        }
    }

    /** Fetches every note that was made up to now. */
    void fetchAll() {
        // A round from the start sees all that was there when it began.
        while (voided.isEmpty() && !fetch()) {}
        while (voided.isEmpty() && !fetch()) {}
    }

    /** Keeps the session alive without taking notes away. */
    void stay() {
        check(call("on"));
    }

    /** Fetches some notes; whether a round is complete. */
    private boolean fetch() {
        Watched watched = call("on");
        if (!check(watched)) {
            return true;
        }
        for (byte[] note : watched.noted()) {
            if (note != null) {
                notes.accept(note);
            }
        }
        seen = watched.noted();
        cursor = watched.cursor();
        return cursor.length == 1 && cursor[0] == '0';
    }

    private boolean check(Watched watched) {
        if (watched.status().equals("OVERFLOW")) {
            voided = "too much changed at once: the graph could not note all of it; try again when it is calmer";
        } else if (!watched.status().equals("OK")) {
            voided = "the verifier was cut off for longer than " + LEASE_MILLIS / 1_000 + " s; try again";
        } else if (!watched.run().equals(run)) {
            voided = "the server was restarted or replaced meanwhile, or a transaction was torn apart; try again";
        }
        return voided.isEmpty();
    }

    private Watched call(String operation) {
        return scripts.verify(operation, token, LEASE_MILLIS, cursor, seen);
    }

    /** Nobody notes any more; if Redis cannot be told so, not after the deadline. */
    @Override
    public void close() {
        for (int attempt = 1; attempt <= 2; attempt++) {
            try {
                call("end");
                return;
            } catch (HoldfastException e) {
                LOG.log(Level.DEBUG, "a verify could not be ended: {0}", e);
            }
        }
    }
}
