package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.graph.InspectionScripts.Marked;
import io.holdfast.redis.link.Reply;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * A leased mark on a graph: from {@link ValueGraph#mark} to the end of {@link #scan} nothing is freed, so that the scan meets
 * every value that was there when it began. It is for those who decide by what the values name whether something outside
 * the graph is still wanted.
 *
 * <p><b>Why freeing must pause.</b> A server's scan meets what is there from its beginning to its end. Say that value A names
 * a file; B, which names it too, is put behind the cursor, and A is freed ahead of it: the file is wanted all the time, and
 * the scan sees it nowhere. While nothing is freed, A is met. Values that are put meanwhile may be met or not: who names a
 * file that he has not just stored must hold a value that names it until his own is put.
 *
 * <p><b>What ends it.</b> Nothing waits but freeing; puts, roots and leases go on, and what nobody holds is doomed until the
 * mark is over. A scanner that dies pauses freeing for the length of the lease. One that was cut off longer, and one whose
 * server was replaced by another meanwhile, is told so: {@link #scan} or {@link #check} fails, and what was scanned counts for
 * nothing.
 */
public final class GraphMark implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(GraphMark.class.getName());
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] START = {'0'};
    private static final int LEAST_PAGE = 8;
    private static final int MOST_PAGE = 512;
    private static final long PAGE_BYTES = 512 << 10;
    private static final Duration BUILDING_PAUSE = Duration.ofMillis(50);

    /** Takes the values of a scan; an exception ends it. */
    @FunctionalInterface
    public interface ValueVisitor {
        void value(ValueId id, byte[] value) throws Exception;
    }

    private final ValueGraph graph;
    private final Duration lease;
    private final Time time;
    private final String token = HexFormat.of().toHexDigits(RANDOM.nextLong());
    private final Marked begun;
    private long renewedNanos;
    private boolean ended;

    GraphMark(ValueGraph graph, Duration lease, Time time) {
        this.graph = graph;
        this.lease = lease;
        this.time = time;
        this.renewedNanos = time.nanoTime();
        this.begun = call("begin");
        if (begun.status().equals("BUSY")) {
            throw new HoldfastException(
                    Category.RETRY,
                    "another mark on graph " + graph.name() + " is out",
                    "wait for it; that of a process that died is over after " + lease.toMillis() + " ms",
                    null);
        }
    }

    /** The server's time before the first value was read. */
    public Instant takenAt() {
        return Instant.ofEpochMilli(begun.serverMillis());
    }

    /** Names this life of the graph on this very server: a replaced server may have an earlier state of it. */
    public String incarnation() {
        return begun.incarnation() + "@" + begun.run();
    }

    /**
     * Hands over every value that was there when the mark began, some perhaps twice, and perhaps some that were put since;
     * then ends the mark. If it returns, the scan was complete. Can be called once.
     */
    public void scan(ValueVisitor visitor, GraphProgress progress) throws Exception {
        List<ValueId> large = scanSmall(graph, visitor, progress, this::renew);
        for (ValueId id : large) {
            takeLarge(id, visitor);
        }
        Marked end = call("end");
        ended = true;
        expect(end);
    }

    /** Every value that is there all the time; without a mark, values that come and go may be met or not. */
    static void readAll(ValueGraph graph, ValueVisitor visitor) throws Exception {
        Marked before = look(graph);
        for (ValueId id : scanSmall(graph, visitor, (phase, done, total) -> {}, () -> {})) {
            Optional<byte[]> value = graph.reader().find(id);
            if (value.isPresent()) {
                visitor.value(id, value.get());
            }
        }
        if (!look(graph).torn().equals(before.torn())) {
            throw new HoldfastException(
                    Category.RETRY, "the values of graph " + graph.name() + " had another name for a while");
        }
    }

    private static Marked look(ValueGraph graph) {
        return graph.inspectionScripts().mark("look", "", 0);
    }

    /** Hands over small values; answers the ids of the others. */
    private static List<ValueId> scanSmall(
            ValueGraph graph, ValueVisitor visitor, GraphProgress progress, Runnable afterPage) throws Exception {
        long total = graph.inspect().statistics().values();
        List<ValueId> large = new ArrayList<>();
        int count = LEAST_PAGE;
        long done = 0;
        for (String shelf : graph.shelves().inUse("values")) {
            byte[] cursor = START;
            do {
                Reply page = page(graph, shelf, cursor, count);
                if (page.part(1).size() == 0) {
                    look(graph); // a page without anything may be one of values that have another name (names.lua)
                    page = page(graph, shelf, cursor, count);
                }
                List<byte @Nullable []> flat = page.part(1).allBytes();
                long bytes = 0;
                for (int i = 0; i + 1 < flat.size(); i += 2) {
                    byte[] field = flat.get(i);
                    byte[] value = flat.get(i + 1);
                    if (field != null && value != null) {
                        take(graph.width(), field, value, large, visitor);
                        bytes += value.length;
                        done++;
                    }
                }
                progress.at("values", done, Math.max(done, total));
                count = bytes > PAGE_BYTES ? Math.max(LEAST_PAGE, count / 4) : Math.min(MOST_PAGE, count * 2);
                cursor = page.bytes(0);
                afterPage.run();
            } while (cursor.length != 1 || cursor[0] != '0');
        }
        return large;
    }

    private static Reply page(ValueGraph graph, String shelf, byte[] cursor, int count) {
        return graph.link()
                .command(
                        Command.HSCAN,
                        graph.shelves().key("values", shelf),
                        cursor,
                        GraphScripts.ascii("COUNT"),
                        GraphScripts.number(count));
    }

    private static void take(int width, byte[] field, byte[] value, List<ValueId> large, ValueVisitor visitor)
            throws Exception {
        if (field.length == width) {
            visitor.value(ValueId.of(field), value);
        } else if (field.length == width + 4 && isFirstChunk(field, width)) {
            large.add(ValueId.read(field, 0, width));
        }
    }

    private static boolean isFirstChunk(byte[] field, int width) {
        return field[width] == 0 && field[width + 1] == 0 && field[width + 2] == 0 && field[width + 3] == 0;
    }

    /** One that is still being written cannot be read, and may be kept in the end: it is waited for, up to a lease. */
    private void takeLarge(ValueId id, ValueVisitor visitor) throws Exception {
        long deadline = time.nanoTime() + lease.toNanos();
        while (true) {
            renew();
            Optional<byte[]> value = graph.reader().find(id);
            if (value.isPresent()) {
                visitor.value(id, value.get());
                return;
            }
            if (!isBuilding(id)) {
                return; // draining: nothing can bring it back
            }
            if (time.nanoTime() - deadline >= 0) {
                throw new HoldfastException(
                        Category.RETRY,
                        "value " + id + " of graph " + graph.name() + " is being written for longer than "
                                + lease.toMillis() + " ms",
                        "scan again when it is there",
                        null);
            }
            LockSupport.parkNanos(BUILDING_PAUSE.toNanos());
        }
    }

    private boolean isBuilding(ValueId id) {
        byte[] state = graph.shelves().get("counts", id.raw());
        return state != null && new String(state, StandardCharsets.ISO_8859_1).startsWith("b");
    }

    private void renew() {
        long now = time.nanoTime();
        if (now - renewedNanos > lease.toNanos() / 4) {
            expect(call("on"));
            renewedNanos = now;
        }
    }

    /** Fails if the server was replaced, or the graph made anew, since the mark began; also after its end. */
    public void check() {
        expect(call("look"));
    }

    private void expect(Marked marked) {
        String why = !marked.run().equals(begun.run())
                ? "the server was restarted or replaced"
                : !marked.incarnation().equals(begun.incarnation())
                        ? "the graph was destroyed and made anew"
                        : !marked.torn().equals(begun.torn())
                                ? "a transaction was torn apart, and values had another name for a while"
                                : marked.status().equals("OK")
                                        ? ""
                                        : "it was not carried on for " + lease.toMillis() + " ms";
        if (!why.isEmpty()) {
            throw new HoldfastException(
                    Category.LAPSED,
                    "the mark on graph " + graph.name() + " is lost: " + why,
                    "what was scanned counts for nothing; begin again",
                    null);
        }
    }

    private Marked call(String operation) {
        return graph.inspectionScripts().mark(operation, token, lease.toMillis());
    }

    /** Ends the mark if the scan has not; freeing goes on. If Redis cannot be reached, the mark lapses. */
    @Override
    public void close() {
        for (int attempt = 1; attempt <= 2 && !ended; attempt++) {
            try {
                call("end");
                ended = true;
            } catch (HoldfastException e) {
                LOG.log(Level.DEBUG, "a mark on graph {0} could not be ended: {1}", graph.name(), e);
            }
        }
        graph.wake();
    }
}
