package io.holdfast.sweep.manager;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Which cycle an owner is at, who has it, and which alarms stand. A manager takes the next number together with a lease;
 * while it renews, no other manager begins. One that stops renewing loses the cycle for good: its number is never given
 * again, and what it still sends carries an older token.
 *
 * <p>The lease keeps two managers from working against each other. It is not what keeps live pieces safe: a filter is
 * complete or is not signed, whoever signs it.
 */
public final class CycleLog {

    private static final String HEAD = "holdfast-cycles 2";
    private static final String HEAD_BEFORE = "holdfast-cycles 1";
    private static final int ALARMS_MAX = 500;
    /** A broken or lying peer must not drown what is told of others. */
    private static final int ALARMS_OF_ONE_MAX = 5;

    private static final int TRIES_MAX = 50;

    /** The right to run one cycle. */
    public record Ticket(OwnerId owner, long cycle, long token, String holder) {}

    /**
     * What is stored.
     *
     * @param token one more with each manager that takes a cycle
     * @param until when the lease lapses; EPOCH if nobody has the cycle
     * @param outcome how the last cycle ended; empty while one runs
     */
    public record State(
            long cycle, long token, String holder, Instant until, Instant beganAt, String outcome, List<Alarm> alarms) {

        static final State FIRST = new State(0, 0, "", Instant.EPOCH, Instant.EPOCH, "", List.of());

        public boolean isHeld(Instant now) {
            return !holder.isEmpty() && now.isBefore(until);
        }

        /** Whether a live piece was trashed: nothing goes on before a person has looked. */
        public boolean isStopped() {
            return alarms.stream().anyMatch(Alarm::stops);
        }
    }

    /**
     * Something that a person must look at; while one stands, no trash is emptied.
     *
     * @param stops whether cycles stop too
     * @param about which peer it is about, as one word
     */
    public record Alarm(Instant at, boolean stops, String about, String text) {}

    private final CycleStore store;
    private final Time time;

    public CycleLog(CycleStore store, Time time) {
        this.store = store;
        this.time = time;
    }

    public State state(OwnerId owner) throws IOException {
        return store.read(owner).map(CycleLog::decode).orElse(State.FIRST);
    }

    /** Takes the next cycle, at least the given number. */
    public Ticket begin(OwnerId owner, String holder, long atLeast, Duration lease) throws IOException {
        State taken = change(owner, state -> {
            Instant now = time.instant();
            if (state.isStopped()) {
                throw new HoldfastException(
                        Category.RETRY,
                        "an alarm stops all cycles of " + owner + ": "
                                + state.alarms().getFirst().text(),
                        "look into it, then holdfast sweep alarms --end",
                        null);
            }
            if (state.isHeld(now)) {
                throw new HoldfastException(
                        Category.RETRY,
                        "cycle " + state.cycle() + " of " + owner + " is run by " + state.holder() + " until "
                                + state.until(),
                        "wait for it, or for its lease to lapse",
                        null);
            }
            long cycle = Math.max(state.cycle() + 1, atLeast);
            return new State(cycle, state.token() + 1, Heard.text(holder), now.plus(lease), now, "", state.alarms());
        });
        return new Ticket(owner, taken.cycle(), taken.token(), taken.holder());
    }

    /** Keeps the cycle; LAPSED if it is another's by now. */
    public void renew(Ticket ticket, Duration lease) throws IOException {
        change(ticket.owner(), state -> {
            requireMine(ticket, state);
            return new State(
                    state.cycle(),
                    state.token(),
                    state.holder(),
                    time.instant().plus(lease),
                    state.beganAt(),
                    "",
                    state.alarms());
        });
    }

    private void requireMine(Ticket ticket, State state) {
        boolean mine = state.token() == ticket.token() && state.holder().equals(ticket.holder());
        if (!mine || !state.isHeld(time.instant())) {
            throw new HoldfastException(
                    Category.LAPSED,
                    "this manager has lost cycle " + ticket.cycle() + " of " + ticket.owner(),
                    "nothing more is signed in it; the next cycle does its work",
                    null);
        }
    }

    /** Gives the cycle up. */
    public void end(Ticket ticket, String outcome) throws IOException {
        change(ticket.owner(), state -> {
            if (state.token() != ticket.token()) {
                return state;
            }
            String line = Heard.text(outcome);
            return new State(state.cycle(), state.token(), "", Instant.EPOCH, state.beganAt(), line, state.alarms());
        });
    }

    /** Raises an alarm. What is told of one peer is bounded: a person who looks into it learns of the rest. */
    public void raise(OwnerId owner, boolean stops, String about, String text) throws IOException {
        String word = Heard.text(about).replace(' ', '_');
        Alarm alarm = new Alarm(time.instant(), stops, word, Heard.text(text));
        change(owner, state -> {
            boolean known = state.alarms().stream().anyMatch(one -> one.text().equals(alarm.text()));
            long ofOne = state.alarms().stream()
                    .filter(one -> one.about().equals(alarm.about()))
                    .count();
            if (known || ofOne >= ALARMS_OF_ONE_MAX || state.alarms().size() >= ALARMS_MAX) {
                return state;
            }
            List<Alarm> all = new ArrayList<>(state.alarms());
            all.add(stops ? 0 : all.size(), alarm);
            return with(state, all);
        });
    }

    /** Ends all alarms, after a person has looked. */
    public int endAlarms(OwnerId owner) throws IOException {
        int standing = state(owner).alarms().size();
        change(owner, state -> with(state, List.of()));
        return standing;
    }

    private static State with(State state, List<Alarm> alarms) {
        return new State(
                state.cycle(), state.token(), state.holder(), state.until(), state.beganAt(), state.outcome(), alarms);
    }

    private State change(OwnerId owner, UnaryOperator<State> change) throws IOException {
        for (int i = 0; i < TRIES_MAX; i++) {
            Optional<String> read = store.read(owner);
            State next = change.apply(read.map(CycleLog::decode).orElse(State.FIRST));
            if (store.compareAndSet(owner, read, encode(next))) {
                return next;
            }
        }
        throw new HoldfastException(Category.RETRY, "the log of cycles changes too fast", "try again later", null);
    }

    private static String encode(State state) {
        StringBuilder text = new StringBuilder(HEAD);
        text.append("\ncycle ").append(state.cycle());
        text.append("\ntoken ").append(state.token());
        text.append("\nholder ").append(state.holder());
        text.append("\nuntil ").append(state.until());
        text.append("\nbegan ").append(state.beganAt());
        text.append("\noutcome ").append(state.outcome());
        for (Alarm alarm : state.alarms()) {
            text.append("\nalarm ").append(alarm.at()).append(alarm.stops() ? " stop " : " note ");
            text.append(alarm.about()).append(' ').append(alarm.text());
        }
        return text.append('\n').toString();
    }

    private static State decode(String text) {
        try {
            List<String> lines = text.lines().toList();
            boolean before = lines.getFirst().equals(HEAD_BEFORE);
            if (!before && !lines.getFirst().equals(HEAD)) {
                throw new IllegalArgumentException("it does not begin with '" + HEAD + "'");
            }
            List<Alarm> alarms = new ArrayList<>();
            for (String line : lines.subList(7, lines.size())) {
                String[] words = line.split(" ", before ? 4 : 5);
                String about = before ? "unknown" : words[3];
                alarms.add(new Alarm(Instant.parse(words[1]), words[2].equals("stop"), about, words[words.length - 1]));
            }
            return new State(
                    Long.parseLong(value(lines.get(1), "cycle")),
                    Long.parseLong(value(lines.get(2), "token")),
                    value(lines.get(3), "holder"),
                    Instant.parse(value(lines.get(4), "until")),
                    Instant.parse(value(lines.get(5), "began")),
                    value(lines.get(6), "outcome"),
                    alarms);
        } catch (RuntimeException e) {
            throw new HoldfastException(
                    Category.CORRUPT,
                    "the log of cycles cannot be read: " + e.getMessage(),
                    "put it back from a backup, or remove it: cycles then go on above the nodes' last",
                    e);
        }
    }

    private static String value(String line, String name) {
        if (!line.startsWith(name + " ")) {
            throw new IllegalArgumentException("a line '" + name + "' is missing");
        }
        return line.substring(name.length() + 1);
    }
}
