package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.GraphScripts.Freed;
import io.holdfast.redis.graph.GraphScripts.RootAnswer;
import io.holdfast.redis.graph.GraphScripts.RootChange;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * A named hold that no other value makes: what it names stays until the root moves on or is dropped. Every change names
 * the version that it changes, so a call that arrives late, or twice, can neither revert nor drop a newer root.
 */
public final class Root {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] NOTHING = {};
    private static final int TRIES = 100;

    private final ValueGraph graph;
    private final String name;
    /** What this object last knew of the root. If that is out of date, the server says so and what is true. */
    private volatile @Nullable State last;

    Root(ValueGraph graph, String name) {
        this.graph = graph;
        this.name = name;
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes < 1 || bytes > 200) {
            throw HoldfastException.misuse(
                    "root name of " + bytes + " bytes", "give a name of 1 to 200 bytes; any characters");
        }
    }

    /**
     * What a root was at a moment.
     *
     * @param target empty if there was no such root
     */
    public record State(Optional<ValueId> target, String version, String floor) {}

    public String name() {
        return name;
    }

    public State read() {
        byte[] floor = graph.link()
                .command(Command.HGET, graph.scripts().key("meta"), GraphScripts.ascii("dropped"))
                .bytesOrNull();
        byte[] stored = graph.link()
                .command(Command.HGET, graph.scripts().key("roots"), name.getBytes(StandardCharsets.UTF_8))
                .bytesOrNull();
        String floorText = floor == null ? "0" : new String(floor, StandardCharsets.US_ASCII);
        if (stored == null) {
            return new State(Optional.empty(), "0", floorText);
        }
        return parse(stored, floorText);
    }

    static State parse(byte[] stored, String floor) {
        int first = indexOf(stored, ';', 0);
        int second = indexOf(stored, ';', first + 1);
        ValueId target = ValueId.read(stored, second + 1, stored.length - second - 1);
        return new State(Optional.of(target), new String(stored, 0, first, StandardCharsets.US_ASCII), floor);
    }

    /** The value that the root names now. */
    public Optional<ValueId> target() {
        return read().target();
    }

    /** Names a value, whatever the root named before. */
    public void set(ValueId target) {
        graph.reader().check(target);
        State known = last;
        State seen = known == null ? read() : known;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            RootAnswer answer = change(seen, target, newOperation());
            if (!answer.status().equals("CHANGED")) {
                expectOk(answer, target);
                return;
            }
            seen = seen(answer);
        }
        throw new HoldfastException(Category.RETRY, "root " + name + " changes too fast to be set");
    }

    /**
     * Names a value if the root still is what the caller saw.
     *
     * @return empty if it was done; otherwise a snapshot of what the root names now, for the next try
     */
    public Optional<Snapshot> compareAndSet(State seen, ValueId target) {
        graph.reader().check(target);
        State expected = seen;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            RootAnswer answer = change(expected, target, newOperation());
            if (!answer.status().equals("CHANGED")) {
                expectOk(answer, target);
                return Optional.empty();
            }
            if (!answer.version().equals(seen.version())) {
                return Optional.of(graph.snapshot(name));
            }
            // Still absent, only another root was dropped meanwhile.
            expected = seen(answer);
        }
        throw new HoldfastException(Category.RETRY, "root " + name + " changes too fast to be set");
    }

    /** Drops the root. What only it held is reclaimed, in steps. */
    public boolean drop() {
        State seen = read();
        for (int attempt = 0; attempt < TRIES; attempt++) {
            if (seen.target().isEmpty()) {
                return false;
            }
            RootAnswer answer = graph.scripts()
                    .root(new RootChange(name, seen.version(), seen.floor(), NOTHING, newOperation()), null);
            switch (answer.status()) {
                case "OK" -> {
                    graph.tell(new Freed("root " + name + " dropped", answer.freed()));
                    graph.wake();
                    return true;
                }
                case "NOROOT" -> {
                    return false;
                }
                case "CHANGED" -> seen = seen(answer);
                default -> expectOk(answer, seen.target().get());
            }
        }
        throw new HoldfastException(Category.RETRY, "root " + name + " changes too fast to be dropped");
    }

    /** One call; what a writer of this process still has to send for it goes with it. */
    private RootAnswer change(State seen, ValueId target, String operation) {
        RootAnswer answer =
                graph.name(target, new RootChange(name, seen.version(), seen.floor(), target.raw(), operation));
        if (answer.status().equals("OK")) {
            last = seen(answer);
            graph.tell(new Freed("root " + name + " moved on", answer.freed()));
            graph.wake();
        }
        return answer;
    }

    private void expectOk(RootAnswer answer, ValueId target) {
        switch (answer.status()) {
            case "OK" -> {}
            case "GONE" ->
                throw new HoldfastException(
                        Category.GONE,
                        "value " + target + " is unknown or already reclaimed, so root " + name + " cannot name it");
            case "BUILDING" ->
                throw new HoldfastException(Category.RETRY, "value " + target + " is still being written");
            default ->
                throw new HoldfastException(Category.CORRUPT, "graph " + graph.name() + " answered " + answer.status());
        }
    }

    private State seen(RootAnswer answer) {
        Optional<ValueId> target =
                answer.version().equals("0") ? Optional.empty() : Optional.of(ValueId.of(answer.target()));
        return new State(target, answer.version(), answer.floor());
    }

    private static String newOperation() {
        return HexFormat.of().toHexDigits(RANDOM.nextLong());
    }

    private static int indexOf(byte[] bytes, char wanted, int from) {
        int at = from;
        while (bytes[at] != wanted) {
            at++;
        }
        return at;
    }
}
