package io.holdfast.app.hold;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Setting;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Table;
import io.holdfast.redis.hold.HoldView.Life;
import io.holdfast.redis.hold.HoldView.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Lives of things, as people see them. */
public final class Lives {

    /** More dead letters than one command gives their attempts back. */
    private static final int LETTERS_MAX = 100_000;
    /** What the name of a holder has room for behind {@code operator-}. */
    private static final int USER_MAX = 48;

    /** Lists lives in a state, those that are due first. */
    public interface Lister {
        List<Life> list(State state, int limit);
    }

    private Lives() {}

    /** @param state the word for one state; null for all of them */
    public static List<Life> list(Lister view, @Nullable String state, int limit) {
        List<Life> lives = new ArrayList<>();
        for (State one : state == null ? List.of(State.values()) : List.of(parse(state))) {
            lives.addAll(view.list(one, limit));
        }
        return lives;
    }

    private static State parse(String word) {
        for (State state : State.values()) {
            if (word(state).equals(word)) {
                return state;
            }
        }
        throw HoldfastException.misuse("unknown state '" + word + "'", "use one of live, grace, closing, dead-letter");
    }

    /** A finding if there are any. */
    public static Answer deadLetters(String idName, List<Life> letters) {
        return (letters.isEmpty() ? Answer.ok() : Answer.finding()).table("deadLetters", table(idName, letters));
    }

    /** @param id only the letters of this thing; null for all */
    public static Answer retry(Lister view, Consumer<Life> again, @Nullable String id, String where) {
        int count = 0;
        List<String> refused = new ArrayList<>();
        for (Life letter : view.list(State.DEAD_LETTER, LETTERS_MAX)) {
            if (id == null || letter.id().equals(id)) {
                try {
                    again.accept(letter);
                    count++;
                } catch (HoldfastException e) {
                    if (id != null || !e.isRetryable()) {
                        throw e;
                    }
                    refused.add(e.getMessage() + "; " + e.action());
                }
            }
        }
        if (id != null && count == 0) {
            throw new HoldfastException(Category.GONE, "no dead letter of '" + id + "' in '" + where + "'");
        }
        Answer answer = refused.isEmpty() ? Answer.ok() : Answer.finding();
        answer.line(count + " dead letters are due again")
                .field("retried", count)
                .field("refused", refused.size());
        refused.forEach(answer::line);
        return answer;
    }

    public static Answer discarded(String id, long epoch) {
        return Answer.ok()
                .line("the dead letter of '" + id + "' epoch " + epoch + " is discarded")
                .field("id", id)
                .field("epoch", epoch)
                .field("discarded", true);
    }

    /** Who asks, for the ledger: {@code operator-ann#…}, as the ledger names holders. */
    public static String operator() {
        String user = System.getProperty("user.name", "unknown").replaceAll("[^A-Za-z0-9._-]", "_");
        return HolderId.newIncarnation("operator-" + user.substring(0, Math.min(user.length(), USER_MAX)))
                .toString();
    }

    public static Table table(String idName, List<Life> lives) {
        Table table = Table.of(idName, "state", "epoch", "holders", "dueIn", "attempts", "evidence");
        for (Life life : lives) {
            table.row(
                    life.id(),
                    word(life.state()),
                    life.epoch(),
                    life.holders().size(),
                    dueIn(life),
                    life.attempts(),
                    life.evidence());
        }
        return table;
    }

    /** Adds who holds them, with the time that their leases still run, if anybody does. */
    public static void addHolders(List<Life> lives, Answer answer) {
        Table holders = Table.of("holder", "leaseRuns");
        lives.forEach(life -> life.holders().forEach(holder -> holders.row(holder.name(), time(holder.leaseMillis()))));
        if (holders.size() > 0) {
            answer.line("").table("holders", holders);
        }
    }

    public static @Nullable String dueIn(Life life) {
        return life.state() == State.LIVE ? null : time(life.dueInMillis());
    }

    public static String word(State state) {
        return state.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public static String time(long millis) {
        return (millis < 0 ? "-" : "") + Setting.text(Duration.ofMillis(Math.abs(millis)));
    }
}
