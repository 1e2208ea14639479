package io.holdfast.redis.graph.model;

import io.holdfast.redis.graph.model.Subject.Client;
import io.holdfast.redis.graph.model.Subject.Lease;
import io.holdfast.redis.graph.model.Subject.Lost;
import io.holdfast.redis.graph.model.Subject.Refused;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Random operations against a store and, beside it, the simplest model there is: a map of what was put, and who holds
 * what. What the model holds must be in the store at every moment; when nothing is held but roots, the store must be
 * exactly what they reach.
 */
public final class ModelRun {

    private static final String[] ROOTS = {"a", "b", "c"};
    /** What the store writes in several calls: so many children, so long a value. */
    private static final int MANY = 300;

    private static final String LONG = "x".repeat(300_000);
    /** What a store may write in another way than short values. */
    private static final String BESIDE = "y".repeat(3_000);

    private final Subject subject;
    private final FaultyWire wire;
    private final RandomGenerator random;
    private final boolean fewContents;

    private final Map<String, String> values = new HashMap<>();
    private final Map<String, List<String>> children = new HashMap<>();
    private final Map<String, String> roots = new LinkedHashMap<>();
    private final Map<Lease, Set<String>> writers = new LinkedHashMap<>();
    private final Map<Lease, String> holds = new LinkedHashMap<>();
    private final Map<Lease, Client> ownerOf = new LinkedHashMap<>();
    private final List<Client> processes = new ArrayList<>();
    private boolean quiet;

    /** @param fewContents put few different values, so that the same content is put again and again */
    public ModelRun(Subject subject, FaultyWire wire, RandomGenerator random, boolean fewContents) {
        this.subject = subject;
        this.wire = wire;
        this.random = random;
        this.fewContents = fewContents;
    }

    public void run(int operations) {
        processes.add(subject.start());
        processes.add(subject.start());
        for (int i = 0; i < operations; i++) {
            operate();
            if (i % 25 == 0) {
                checkEverythingHeldIsThere();
            }
        }
        endEverything();
        checkStoreIsExactlyWhatRootsReach("after everything ended");
        wire.repeatAllLate();
        subject.lapseAll();
        subject.drain();
        checkStoreIsExactlyWhatRootsReach("after every call arrived once more, late");
    }

    private Refused lastRefusal;

    private void operate() {
        int choice = random.nextInt(100);
        Client process = processes.get(random.nextInt(processes.size()));
        if (choice < 38) {
            put(process);
        } else if (choice < 44) {
            setRoot(process);
        } else if (choice < 46) {
            putAndSetRoot(process);
        } else if (choice < 48) {
            moveRootOn(process);
        } else if (choice < 50) {
            copyOn(process);
        } else if (choice < 53) {
            dropRoot(process);
        } else if (choice < 60) {
            hold(process);
        } else if (choice < 66) {
            release();
        } else if (choice < 82) {
            quietly(process::step);
        } else if (choice < 86) {
            lapseOne();
        } else if (choice < 92) {
            wire.repeatOneLate();
        } else if (choice < 95) {
            flushOne();
        } else if (choice < 98) {
            readSomething();
        } else if (choice < 99) {
            crash(process);
        } else {
            quiet = !quiet;
            subject.quiet(quiet);
        }
    }

    /** Answers the id, or null where nothing was put. */
    private String put(Client process) {
        Lease writer = someWriter(process);
        if (writer == null) {
            return null;
        }
        List<String> alive = new ArrayList<>(reachable());
        List<String> chosen = new ArrayList<>();
        int wanted = random.nextInt(90) == 0 ? MANY : random.nextInt(5);
        for (int i = 0; i < wanted && !alive.isEmpty(); i++) {
            chosen.add(alive.get(random.nextInt(alive.size())));
        }
        if (random.nextInt(40) == 0 && !values.isEmpty()) {
            // One that may well be gone: the store must refuse it, or have it.
            List<String> all = new ArrayList<>(values.keySet());
            chosen.add(all.get(random.nextInt(all.size())));
        }
        return put(process, writer, chosen, alive, Optional.empty());
    }

    private String put(
            Client process, Lease writer, List<String> chosen, Collection<String> alive, Optional<String> before) {
        String value = fewContents ? "v" + random.nextInt(12) : "v" + random.nextLong();
        if (random.nextInt(180) == 0) {
            value += LONG;
        } else if (random.nextInt(8) == 0) {
            value += BESIDE;
        }
        String bytes = value;
        String id = attempt(process, () -> {
            String made = before.isEmpty()
                    ? process.put(writer, bytes, chosen)
                    : process.put(writer, bytes, chosen, before.get(), childrenOf(before.get(), chosen));
            values.put(made, bytes);
            children.put(made, List.copyOf(chosen));
            return made;
        });
        if (id == null) {
            writers.remove(writer);
            return null;
        }
        Set<String> own = writers.get(writer);
        if (own != null) {
            chosen.forEach(own::remove);
            own.add(id);
            if (!alive.containsAll(chosen)) {
                // A child that was gone by the model: only a flush tells whether the store still had it.
                settle(process, writer);
            }
        }
        return id;
    }

    /** As a client has read them; now and then it is mistaken, and takes those of the next version for them. */
    private List<String> childrenOf(String id, List<String> now) {
        List<String> known = new ArrayList<>(children.getOrDefault(id, List.of()));
        if (random.nextInt(20) == 0) {
            return now;
        }
        if (!known.isEmpty() && random.nextInt(20) == 0) {
            known.remove(random.nextInt(known.size()));
        }
        return known;
    }

    private void settle(Client process, Lease writer) {
        Boolean done = attempt(process, () -> {
            process.flush(writer);
            return true;
        });
        if (done == null) {
            writers.remove(writer);
        }
    }

    private void flushOne() {
        Lease writer = pick(new ArrayList<>(writers.keySet()));
        Client process = writer == null ? null : ownerOf.get(writer);
        if (writer != null && process != null) {
            settle(process, writer);
        }
    }

    private void setRoot(Client process) {
        List<String> alive = new ArrayList<>(reachable());
        if (alive.isEmpty()) {
            return;
        }
        String target = alive.get(random.nextInt(alive.size()));
        // What another process has put and not sent does not exist for this one.
        flushAll();
        if (reachable().contains(target)) {
            setRoot(process, target);
        }
    }

    /** What was not sent yet goes with the change of the root. */
    private void putAndSetRoot(Client process) {
        flushAll();
        String target = put(process);
        if (target != null && reachable().contains(target)) {
            setRoot(process, target);
        }
    }

    /** A root moves on to a version of what it names, which shares most of it, as a map does with every change. */
    private void moveRootOn(Client process) {
        flushAll();
        String name = ROOTS[random.nextInt(ROOTS.length)];
        Lease writer = someWriter(process);
        if (writer == null || roots.get(name) == null) {
            return;
        }
        String target = nextVersion(process, writer, roots.get(name), 0);
        if (target != null && reachable().contains(target)) {
            setRoot(process, name, target);
        }
    }

    /** The next version of any value; nobody names it yet. */
    private void copyOn(Client process) {
        flushAll();
        Lease writer = someWriter(process);
        String old = pick(new ArrayList<>(reachable()));
        if (writer != null && old != null) {
            nextVersion(process, writer, old, 0);
        }
    }

    private String nextVersion(Client process, Lease writer, String old, int depth) {
        List<String> next = new ArrayList<>(children.getOrDefault(old, List.of()));
        if (!next.isEmpty()) {
            int at = random.nextInt(next.size());
            switch (random.nextInt(8)) {
                case 0 -> next.remove(at);
                case 1 -> next.add(next.get(at));
                case 2 -> next.add(old);
                case 3 -> next.clear();
                default -> {
                    String below = depth < 6 ? nextVersion(process, writer, next.get(at), depth + 1) : next.get(at);
                    if (below == null) {
                        return null;
                    }
                    next.set(at, below);
                }
            }
        }
        Optional<String> before = random.nextInt(5) == 0 ? Optional.empty() : Optional.of(old);
        return put(process, writer, next, reachable(), before);
    }

    private void setRoot(Client process, String target) {
        setRoot(process, ROOTS[random.nextInt(ROOTS.length)], target);
    }

    private void setRoot(Client process, String name, String target) {
        String before = roots.get(name);
        Boolean done = attempt(process, () -> {
            process.setRoot(name, target);
            return true;
        });
        resolveRoot(name, before, Optional.of(target), done != null);
        if (done != null) {
            writers.forEach((writer, own) -> {
                if (process.equals(ownerOf.get(writer))) {
                    own.remove(target);
                }
            });
        } else if (processes.contains(process)) {
            throw new AssertionError("root " + name + " may not name " + target + ", which is held", lastRefusal);
        }
    }

    private void dropRoot(Client process) {
        String name = ROOTS[random.nextInt(ROOTS.length)];
        String before = roots.get(name);
        Boolean done = attempt(process, () -> {
            process.dropRoot(name);
            return true;
        });
        resolveRoot(name, before, Optional.empty(), done != null);
    }

    /** A change that ended is in the store; one whose process died may or may not be. */
    private void resolveRoot(String name, String before, Optional<String> after, boolean done) {
        Optional<String> now = subject.rootTarget(name);
        if (!now.equals(after) && (done || !now.equals(Optional.ofNullable(before)))) {
            throw new AssertionError("root " + name + " was " + before + ", should be " + after + ", is " + now);
        }
        now.ifPresentOrElse(target -> roots.put(name, target), () -> roots.remove(name));
    }

    private void hold(Client process) {
        List<String> alive = new ArrayList<>(reachable());
        if (alive.isEmpty()) {
            return;
        }
        String target = alive.get(random.nextInt(alive.size()));
        flushAll();
        if (!reachable().contains(target)) {
            return;
        }
        Lease lease = attempt(process, () -> process.hold(target));
        if (lease != null) {
            holds.put(lease, target);
            ownerOf.put(lease, process);
        }
    }

    private void release() {
        List<Lease> all = new ArrayList<>(holds.keySet());
        all.addAll(writers.keySet());
        Lease lease = pick(all);
        Client process = lease == null ? null : ownerOf.get(lease);
        if (lease == null || process == null) {
            return;
        }
        holds.remove(lease);
        writers.remove(lease);
        quietly(() -> process.release(lease));
        ownerOf.remove(lease);
    }

    private void lapseOne() {
        Lease lease = pick(new ArrayList<>(ownerOf.keySet()));
        if (lease != null && !quiet) {
            holds.remove(lease);
            writers.remove(lease);
            subject.lapse(lease);
        }
    }

    private void readSomething() {
        flushAll();
        Set<String> some = reachable();
        some.removeIf(id -> random.nextInt(4) != 0);
        expectThere(some);
    }

    /** The process is gone, with everything that it had not sent. Its leases are still out. */
    private void crash(Client process) {
        ownerOf.forEach((lease, owner) -> {
            if (owner.equals(process)) {
                holds.remove(lease);
                writers.remove(lease);
            }
        });
        ownerOf.values().removeIf(process::equals);
        processes.remove(process);
        processes.add(subject.start());
    }

    private Lease someWriter(Client process) {
        List<Lease> own = new ArrayList<>();
        writers.keySet().forEach(writer -> {
            if (process.equals(ownerOf.get(writer))) {
                own.add(writer);
            }
        });
        if (own.size() < 2) {
            Lease writer = attempt(process, process::writer);
            if (writer == null) {
                return null;
            }
            writers.put(writer, new LinkedHashSet<>());
            ownerOf.put(writer, process);
            return writer;
        }
        return pick(own);
    }

    private void flushAll() {
        for (Lease writer : List.copyOf(writers.keySet())) {
            Client process = ownerOf.get(writer);
            if (process != null) {
                settle(process, writer);
            }
        }
    }

    /** Sends again while it is not known what happened; now and then the process dies over it. Null if refused or dead. */
    private <T> T attempt(Client process, Supplier<T> call) {
        while (true) {
            try {
                return call.get();
            } catch (Refused e) {
                lastRefusal = e;
                return null;
            } catch (Lost e) {
                if (random.nextInt(8) == 0) {
                    crash(process);
                    return null;
                }
            }
        }
    }

    private void quietly(Runnable call) {
        try {
            call.run();
        } catch (Lost | Refused e) {
            // It may have happened or not: the lease lapses, or the next step does it.
        }
    }

    private void endEverything() {
        wire.faults(false);
        for (Lease lease : List.copyOf(ownerOf.keySet())) {
            Client process = ownerOf.get(lease);
            if (process != null && random.nextBoolean()) {
                quietly(() -> process.release(lease));
            }
        }
        holds.clear();
        writers.clear();
        subject.quiet(false);
        subject.lapseAll();
        subject.drain();
    }

    private void checkEverythingHeldIsThere() {
        flushAll();
        expectThere(reachable());
    }

    private void expectThere(Set<String> ids) {
        Map<String, String> found = subject.find(ids);
        for (String id : ids) {
            String value = values.getOrDefault(id, "");
            if (!value.equals(found.get(id))) {
                throw new AssertionError(
                        "value " + id + " is held and should be " + brief(value) + ", is " + brief(found.get(id)));
            }
        }
    }

    private void checkStoreIsExactlyWhatRootsReach(String when) {
        Map<String, String> expected = new HashMap<>();
        reachable().forEach(id -> expected.put(id, values.getOrDefault(id, "")));
        Map<String, String> contents = subject.contents();
        if (!contents.equals(expected)) {
            Set<String> lost = new HashSet<>(expected.keySet());
            lost.removeAll(contents.keySet());
            Set<String> leaked = new HashSet<>(contents.keySet());
            leaked.removeAll(expected.keySet());
            throw new AssertionError(when + ": lost " + lost + ", leaked " + leaked);
        }
        String faults = subject.faultsInside(Map.copyOf(roots), children);
        if (!faults.isEmpty()) {
            throw new AssertionError(when + ": " + faults);
        }
    }

    private Set<String> reachable() {
        Set<String> seen = new LinkedHashSet<>(roots.values());
        seen.addAll(holds.values());
        writers.values().forEach(seen::addAll);
        Deque<String> open = new ArrayDeque<>(seen);
        while (!open.isEmpty()) {
            for (String child : children.getOrDefault(open.removeFirst(), List.of())) {
                if (seen.add(child)) {
                    open.addLast(child);
                }
            }
        }
        return seen;
    }

    private static String brief(String value) {
        return value == null || value.length() < 100 ? value : value.substring(0, 100) + "…";
    }

    private <T> T pick(List<T> from) {
        return from.isEmpty() ? null : from.get(random.nextInt(from.size()));
    }
}
