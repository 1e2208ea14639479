package io.holdfast.redis.graph.write;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.store.GraphContext;
import io.holdfast.redis.graph.store.LeaseKeeper;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.store.RootChange;
import io.holdfast.redis.graph.store.Store.RootAnswer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * Named holds that no value makes. Every change names the version that it changes, so a call that arrives late, or
 * twice, can neither revert nor drop a newer root. Several roots change in one call: all of them, or none.
 *
 * <p>What a writer of this process has still to put is put by the same call, and the writer's hold is taken over.
 */
public final class Roots {

    private static final int TRIES = 100;

    /**
     * What a root was at a moment.
     *
     * @param target empty if there was no such root
     * @param version of a root that is not there, that of the latest drop of any
     * @param when it was set, and by whom; empty if there was no such root
     */
    public record State(Optional<Place> target, String version, Optional<Instant> when, String by) {}

    /** What became of a change. */
    public sealed interface Outcome {
        /** @param version of the roots from now on */
        record Done(String version) implements Outcome {}

        /** Nothing was done: this root is not what the caller saw. */
        record Changed(String root, State now) implements Outcome {}

        /** Nothing was done: the value that this root was to name has ended. */
        record Gone(String root, Place target) implements Outcome {}
    }

    /** @param target null: the root is dropped */
    public record Change(String root, State seen, @Nullable Place target) {}

    private final GraphContext graph;
    private final List<Writer> writers = new CopyOnWriteArrayList<>();

    public Roots(GraphContext graph) {
        this.graph = graph;
    }

    /** Takes over the holds of this writer from now on. */
    public void add(Writer writer) {
        writers.add(writer);
    }

    public void remove(Writer writer) {
        writers.remove(writer);
    }

    public State read(String root) {
        String dropped = dropped(); // first: if a root is dropped in between, the change is refused and tried again
        byte[] record = graph.store().command(Command.HGET, "roots", root).bytesOrNull();
        return record == null ? absent(dropped) : state(new String(record, java.nio.charset.StandardCharsets.UTF_8));
    }

    /** All roots whose names begin so. */
    public Map<String, State> readAll(String prefix) {
        Map<String, State> roots = new TreeMap<>();
        graph.store().scan("roots", (name, record) -> {
            if (name.startsWith(prefix)) {
                roots.put(name, state(record.text()));
            }
        });
        return roots;
    }

    private String dropped() {
        byte[] dropped = graph.store().command(Command.HGET, "meta", "dropped").bytesOrNull();
        return dropped == null ? "0" : new String(dropped, java.nio.charset.StandardCharsets.US_ASCII);
    }

    private static State absent(String dropped) {
        return new State(Optional.empty(), dropped, Optional.empty(), "");
    }

    private static State state(String record) {
        String[] parts = record.split(" ", 5);
        Instant when = Instant.ofEpochMilli(Long.parseLong(parts[3]));
        return new State(Optional.of(Place.parse(parts[1])), parts[0], Optional.of(when), parts[4]);
    }

    /**
     * Lets a root name a value, whatever it named before.
     *
     * @param known what the caller saw last; null: it is read
     * @return what the root is from now on
     * @throws HoldfastException GONE if the value has ended; RETRY if the server does not answer
     */
    public State set(String root, @Nullable State known, Place target) {
        State seen = known == null ? read(root) : known;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            switch (change(List.of(new Change(root, seen, target)))) {
                case Outcome.Done done -> {
                    return new State(Optional.of(target), done.version(), Optional.empty(), "");
                }
                case Outcome.Changed changed -> seen = changed.now();
                case Outcome.Gone gone ->
                    throw new HoldfastException(
                            Category.GONE,
                            "value " + gone.target() + " is unknown or already reclaimed, so root " + root
                                    + " cannot name it");
            }
        }
        throw new HoldfastException(Category.RETRY, "root " + root + " changes too fast to be set");
    }

    /** Drops a root, whatever it names; answers whether there was one. */
    public boolean drop(String root) {
        State seen = read(root);
        for (int attempt = 0; attempt < TRIES; attempt++) {
            if (seen.target().isEmpty()) {
                return false;
            }
            switch (change(List.of(new Change(root, seen, null)))) {
                case Outcome.Changed changed -> seen = changed.now();
                default -> {
                    return true;
                }
            }
        }
        throw new HoldfastException(Category.RETRY, "root " + root + " changes too fast to be dropped");
    }

    /** Makes all of these changes, or none. A root may be named once. */
    public Outcome change(List<Change> changes) {
        String version = HexFormat.of().toHexDigits(graph.random().nextLong());
        List<RootChange> plain = new ArrayList<>();
        for (Change change : changes) {
            plain.add(new RootChange(change.root(), change.seen().version(), change.target(), true));
        }
        for (Writer writer : changes.size() == 1 ? writers : List.<Writer>of()) {
            if (writer.putAndName(plain.getFirst(), version)) {
                return new Outcome.Done(version);
            }
        }
        changes.forEach(change -> Optional.ofNullable(change.target()).ifPresent(graph::send));
        RootAnswer answer = call(changes, plain, version);
        Change of = changes.get(answer.which());
        return switch (answer.status()) {
            case "OK" -> {
                graph.wake().run();
                yield new Outcome.Done(version);
            }
            case "GONE" ->
                new Outcome.Gone(of.root(), Optional.ofNullable(of.target()).orElseThrow());
            case "CHANGED" -> new Outcome.Changed(of.root(), read(of.root()));
            default ->
                throw new HoldfastException(Category.RETRY, "the server took too long to answer: " + answer.status());
        };
    }

    /** One call; the hold of a writer of this process on the first target is taken over. */
    private RootAnswer call(List<Change> changes, List<RootChange> plain, String version) {
        long until = graph.leases().validUntil();
        RootAnswer[] answer = new RootAnswer[1];
        Place first = changes.getFirst().target();
        Writer holder = first == null
                ? null
                : writers.stream()
                        .filter(writer -> writer.holds(first))
                        .findFirst()
                        .orElse(null);
        if (first == null || holder == null) {
            return LeaseKeeper.repeated(() -> graph.store().change(until, version, "", plain));
        }
        List<RootChange> handing = new ArrayList<>();
        for (int i = 0; i < plain.size(); i++) {
            RootChange it = plain.get(i);
            handing.add(new RootChange(it.name(), it.expected(), it.target(), i == 0));
        }
        holder.handOver(first, lease -> {
            answer[0] = LeaseKeeper.repeated(() -> graph.store().change(until, version, lease, handing));
            return answer[0].status().equals("OK");
        });
        return answer[0];
    }
}
