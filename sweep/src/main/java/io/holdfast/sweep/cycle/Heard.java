package io.holdfast.sweep.cycle;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import java.io.UncheckedIOException;
import java.util.concurrent.Callable;

/**
 * The result of one call to a peer. Everything a peer says is a claim: its numbers are bounded, its text carries no control
 * characters, and its failure, of whatever category, is a failure of that peer alone. In particular a peer cannot end a cycle
 * by reporting LAPSED, which is a verdict about the manager's own lease.
 */
public sealed interface Heard<T> {

    /** The longest text that is kept of a peer. */
    int TEXT_MAX = 1000;

    /** No count of pieces or bytes is larger; sums over a fleet stay far below an overflow. */
    long COUNT_MAX = 1L << 50;

    /** The peer replied, and the reply is within bounds. */
    record Said<T>(T value) implements Heard<T> {}

    /**
     * There is no usable reply.
     *
     * @param mayPass whether the same call may succeed later
     * @param broken whether the peer says that data is corrupt
     */
    record Failed<T>(boolean mayPass, boolean broken, String why) implements Heard<T> {}

    static <T> Heard<T> of(Callable<T> call) throws InterruptedException {
        try {
            return new Said<>(call.call());
        } catch (InterruptedException e) {
            throw e;
        } catch (HoldfastException e) {
            return new Failed<>(
                    e.category() == Category.RETRY, e.category() == Category.CORRUPT, text("" + e.getMessage()));
        } catch (UncheckedIOException e) {
            return new Failed<>(true, false, text(e.toString()));
        } catch (Exception e) {
            return new Failed<>(false, false, text(e.toString()));
        }
    }

    /** Text of a peer in one line: control characters and line separators become spaces, and the rest is cut. */
    static String text(String said) {
        return text(said, TEXT_MAX);
    }

    static String text(String said, int most) {
        String cut = said.length() <= most ? said : said.substring(0, most - 1) + "…";
        StringBuilder clean = new StringBuilder(cut.length());
        for (int i = 0; i < cut.length(); i++) {
            char letter = cut.charAt(i);
            boolean breaks = Character.isISOControl(letter)
                    || Character.getType(letter) == Character.LINE_SEPARATOR
                    || Character.getType(letter) == Character.PARAGRAPH_SEPARATOR
                    || Character.getType(letter) == Character.FORMAT;
            clean.append(breaks ? ' ' : letter);
        }
        return clean.toString();
    }

    /** Throws MISUSE unless the numbers of a node are possible and fit each other. */
    static NodeProgress possible(NodeProgress told) {
        long[] counts = {
            told.examined(),
            told.wouldTrash(),
            told.wouldTrashBytes(),
            told.trashed(),
            told.trashedBytes(),
            told.live(),
            told.young(),
            told.failed()
        };
        for (long count : counts) {
            if (count > COUNT_MAX) {
                throw impossible(told, "a count of " + count);
            }
        }
        if (told.state() == NodeProgress.State.EXAMINED && told.wouldTrash() > told.examined()) {
            throw impossible(told, told.wouldTrash() + " pieces to trash of " + told.examined());
        }
        if (told.suspects().size() > Suspect.MOST) {
            throw impossible(told, told.suspects().size() + " suspects");
        }
        for (Suspect suspect : told.suspects()) {
            if (suspect.id().length() != told.idBytes() || suspect.cycle() < 1) {
                throw impossible(told, "a suspect with an id of " + suspect.id().length() + " bytes");
            }
        }
        for (NodeStatus.Alarm alarm : told.alarms()) {
            if (alarm.id().length() != told.idBytes() || alarm.cycle() < 1) {
                throw impossible(told, "an alarm for an id of " + alarm.id().length() + " bytes");
            }
        }
        return told;
    }

    private static HoldfastException impossible(NodeProgress told, String what) {
        return HoldfastException.misuse(
                "node " + told.node() + " says what cannot be: " + what, "see which software answers there");
    }
}
