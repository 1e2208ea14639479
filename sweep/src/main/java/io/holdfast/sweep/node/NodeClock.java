package io.holdfast.sweep.node;

import io.holdfast.Time;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;

/**
 * The node's clock as far as the ages of pieces hang on it.
 *
 * <p>A piece that is put while the clock is behind would look old once it is set right. Three rules prevent that:
 *
 * <ol>
 *   <li>An age is never earlier than the latest time that this node has seen, which is kept through restarts.
 *   <li>If the clock runs ahead of the monotonic one by more than the allowed skew, what was put before that moment has an
 *       unknown age. Nothing is judged until the snapshot lies a whole spare window after the jump.
 *   <li>A clock that is set right while the node is stopped looks like a long stop. So what was put in a run that ended with a
 *       long stop has an unknown age too, unless a manager's clock agreed with the node's in that run. Until the snapshot lies
 *       a spare window after the next start, only what is older than that run is judged.
 * </ol>
 *
 * A clock that was ahead by mistake and is set back would make new pieces too young for as long. So when a manager's clock
 * agrees with the wall clock, the latest time seen and the jump are brought back to it.
 */
final class NodeClock implements Time {

    private static final System.Logger LOG = System.getLogger(NodeClock.class.getName());
    private static final String HEAD = "holdfast-clock 2";
    private static final Duration WRITE_EVERY = Duration.ofMinutes(10);
    private static final int RUNS_MOST = 100;

    /** Ages up to a time are known, but for what was put before the start of the run. */
    private record Known(Instant until, Instant start) {}

    private final Path path;
    private final StateFiles files;
    private final Time time;
    private final Duration skew;
    private Instant latest = Instant.EPOCH;
    private Instant jumpedAt = Instant.EPOCH;
    private Instant written = Instant.EPOCH;
    /** The last start at which it was not known how old the pieces of the run before are. */
    private Instant startedAt = Instant.EPOCH;
    /** Up to when ages are known, but for what was put before that start. */
    private Instant knownUntil = Instant.EPOCH;
    /** Whether a manager's clock has agreed in this run, since the last jump. */
    private boolean agreed;

    private final List<Known> earlier = new ArrayList<>();
    private Instant anchorWall;
    private long anchorNanos;

    private NodeClock(Path path, StateFiles files, Time time, Duration skew) {
        this.path = path;
        this.files = files;
        this.time = time;
        this.skew = skew;
        this.anchorWall = time.instant();
        this.anchorNanos = time.nanoTime();
    }

    static NodeClock open(Path state, StateFiles files, Time time, Duration skew) throws IOException {
        NodeClock clock = new NodeClock(state.resolve("clock"), files, time, skew);
        clock.read();
        clock.start();
        clock.look();
        return clock;
    }

    private void read() throws IOException {
        try {
            List<String> lines = Files.readAllLines(path, StandardCharsets.US_ASCII);
            if (lines.size() >= 6 && lines.getFirst().equals(HEAD)) {
                latest = Instant.parse(lines.get(1));
                jumpedAt = Instant.parse(lines.get(2));
                startedAt = Instant.parse(lines.get(3));
                knownUntil = Instant.parse(lines.get(4));
                agreed = Boolean.parseBoolean(lines.get(5));
                for (String line : lines.subList(6, lines.size())) {
                    int space = line.indexOf(' ');
                    earlier.add(new Known(
                            Instant.parse(line.substring(0, space)), Instant.parse(line.substring(space + 1))));
                }
                written = latest;
                return;
            }
        } catch (NoSuchFileException e) {
            return;
        } catch (DateTimeParseException | StringIndexOutOfBoundsException e) {
            LOG.log(Level.WARNING, "the clock file cannot be read: {0}", e.getMessage());
            earlier.clear();
        }
        // Not known: as if the clock had been set just now.
        jumpedAt = time.instant();
    }

    /** A stop that was short by this clock leaves no room for setting it. */
    private void start() {
        Instant wall = time.instant();
        boolean first = written.equals(Instant.EPOCH);
        if (first || Duration.between(written, wall).compareTo(skew.plus(WRITE_EVERY)) <= 0) {
            return;
        }
        if (agreed) {
            knownUntil = written;
            agreed = false;
        } else {
            earlier.add(new Known(knownUntil, startedAt));
            forget();
            startedAt = wall;
            knownUntil = Instant.EPOCH;
        }
        write();
    }

    /** A run that knows no more than another, from a later start, is of no use. */
    private void forget() {
        List<Known> all = List.copyOf(earlier);
        earlier.removeIf(one -> all.stream()
                .anyMatch(other -> !other.equals(one)
                        && !other.until().isBefore(one.until())
                        && !other.start().isAfter(one.start())));
        while (earlier.size() > RUNS_MOST) {
            earlier.remove(1);
        }
    }

    /** The age of what is put now. */
    @Override
    public synchronized Instant instant() {
        look();
        return latest;
    }

    @Override
    public long nanoTime() {
        return time.nanoTime();
    }

    /** Compares the wall clock with the monotonic one. */
    synchronized void look() {
        Instant wall = time.instant();
        long nanos = time.nanoTime();
        Duration ahead = Duration.between(anchorWall.plusNanos(nanos - anchorNanos), wall);
        if (ahead.compareTo(skew) > 0) {
            jumpedAt = wall;
            agreed = false;
            LOG.log(
                    Level.WARNING,
                    "the clock jumped ahead by {0} s: what is here is spared for a while",
                    ahead.toSeconds());
            anchor(wall, nanos);
            latest = wall.isAfter(latest) ? wall : latest;
            write();
        } else if (ahead.isNegative()) {
            agreed &= ahead.negated().compareTo(skew) <= 0;
            anchor(wall, nanos);
        }
        if (wall.isAfter(latest)) {
            latest = wall;
        }
        if (Duration.between(written, latest).compareTo(WRITE_EVERY) > 0) {
            write();
        }
    }

    private void anchor(Instant wall, long nanos) {
        anchorWall = wall;
        anchorNanos = nanos;
    }

    /** A manager's clock agrees with the wall clock: what was seen beyond it was a mistake. */
    synchronized void agreed() {
        look();
        Instant wall = time.instant();
        boolean isAhead = Duration.between(wall, latest).compareTo(skew) > 0;
        if (isAhead || jumpedAt.isAfter(wall) || startedAt.isAfter(wall) || !agreed) {
            latest = isAhead ? wall : latest;
            jumpedAt = jumpedAt.isAfter(wall) ? wall : jumpedAt;
            startedAt = startedAt.isAfter(wall) ? wall : startedAt;
            agreed = true;
            write();
        }
    }

    /** Up to which age pieces may be judged by a limit: what lies beyond has no age that is known. */
    synchronized Instant judgeable(Instant limit) {
        look();
        if (limit.isBefore(jumpedAt)) {
            return Instant.EPOCH;
        }
        if (!limit.isBefore(startedAt)) {
            return limit;
        }
        Instant known = Instant.EPOCH;
        for (Known run : earlier) {
            known = !limit.isBefore(run.start()) && run.until().isAfter(known) ? run.until() : known;
        }
        return known.isBefore(limit) ? known : limit;
    }

    /** What was trashed before the clock jumped counts as trashed then. */
    synchronized Instant noEarlierThanTheJump(Instant since) {
        look();
        return since.isBefore(jumpedAt) ? jumpedAt : since;
    }

    /** Written as well as possible: on a full disk the node still serves, and the next look tries again. */
    private void write() {
        StringBuilder text = new StringBuilder(HEAD);
        for (Object line : List.of(latest, jumpedAt, startedAt, knownUntil, agreed)) {
            text.append('\n').append(line);
        }
        for (Known run : earlier) {
            text.append('\n').append(run.until()).append(' ').append(run.start());
        }
        byte[] bytes = text.append('\n').toString().getBytes(StandardCharsets.US_ASCII);
        try {
            files.replace(path, out -> out.write(bytes));
            written = latest;
        } catch (IOException e) {
            LOG.log(Level.WARNING, "the clock file cannot be written: {0}", e.getMessage());
        }
    }

    synchronized void close() {
        look();
        if (latest.isAfter(written)) {
            write();
        }
    }
}
