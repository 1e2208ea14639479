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
import java.util.List;

/**
 * The node's clock as far as the ages of pieces hang on it.
 *
 * <p>A piece that is put while the clock is behind would look old once it is set right. Two rules prevent that:
 *
 * <ol>
 *   <li>An age is never earlier than the latest time that this node has seen, which is kept through restarts.
 *   <li>If the clock runs ahead of the monotonic one by more than the allowed skew, what was put before that moment has an
 *       unknown age. Nothing is judged until the snapshot lies a whole spare window after the jump ({@link #isJudgeable}).
 * </ol>
 *
 * A clock that was ahead by mistake and is set back would make new pieces too young for as long. So when a manager's clock
 * agrees with the wall clock, the latest time seen is brought back to it.
 */
final class NodeClock implements Time {

    private static final System.Logger LOG = System.getLogger(NodeClock.class.getName());
    private static final String HEAD = "holdfast-clock 1";
    private static final Duration WRITE_EVERY = Duration.ofMinutes(10);

    private final Path path;
    private final StateFiles files;
    private final Time time;
    private final Duration skew;
    private Instant latest = Instant.EPOCH;
    private Instant jumpedAt = Instant.EPOCH;
    private Instant written = Instant.EPOCH;
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
        clock.look();
        return clock;
    }

    private void read() throws IOException {
        try {
            List<String> lines = Files.readAllLines(path, StandardCharsets.US_ASCII);
            if (lines.size() == 3 && lines.getFirst().equals(HEAD)) {
                latest = Instant.parse(lines.get(1));
                jumpedAt = Instant.parse(lines.get(2));
                written = latest;
                return;
            }
        } catch (NoSuchFileException e) {
            return;
        } catch (DateTimeParseException e) {
            LOG.log(Level.WARNING, "the clock file cannot be read: {0}", e.getMessage());
        }
        // Not known: as if the clock had been set just now.
        jumpedAt = time.instant();
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
            LOG.log(
                    Level.WARNING,
                    "the clock jumped ahead by {0} s: what is here is spared for a while",
                    ahead.toSeconds());
            anchor(wall, nanos);
            latest = wall.isAfter(latest) ? wall : latest;
            write();
        } else if (ahead.isNegative()) {
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
        if (Duration.between(wall, latest).compareTo(skew) > 0) {
            latest = wall;
            write();
        }
    }

    /** Whether ages before the limit are known. */
    synchronized boolean isJudgeable(Instant limit) {
        look();
        return !limit.isBefore(jumpedAt);
    }

    /** What was trashed before the clock jumped counts as trashed then. */
    synchronized Instant noEarlierThanTheJump(Instant since) {
        look();
        return since.isBefore(jumpedAt) ? jumpedAt : since;
    }

    /** Written as well as possible: on a full disk the node still serves, and the next look tries again. */
    private void write() {
        String text = HEAD + "\n" + latest + "\n" + jumpedAt + "\n";
        try {
            files.replace(path, out -> out.write(text.getBytes(StandardCharsets.US_ASCII)));
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
