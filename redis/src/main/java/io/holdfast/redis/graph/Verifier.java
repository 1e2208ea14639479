package io.holdfast.redis.graph;

import io.holdfast.Time;
import io.holdfast.redis.graph.InspectionScripts.Fields;
import io.holdfast.redis.link.Reply;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * Verifies a graph while it is being used: nothing is locked, nothing waits.
 *
 * <p><b>Why what it says is exact</b> though it reads for minutes. From begin to end every script notes what it changes
 * (shard.lua). About an id that was never noted, nothing changed: its bytes, its count, its place in the work list, and who
 * holds it. So each of its holders was there all the time, too, and a scan returns what is there all the time. Whatever
 * was noted is not judged. If the notes are incomplete (too many at once, the server replaced, the verifier cut off), the
 * whole verdict is void.
 *
 * <p><b>Reachability.</b> With every count right, a value that is held has a holder, that one has a holder, and so on up to
 * a root or a lease, unless the way runs in a circle. The last step walks down from everything that is held by a root or
 * a lease, or doomed, or noted, and what no way leads to is a circle. Edges are read again for that and not kept, so that
 * memory does not depend on them.
 *
 * <p>Bounded pages keep each call short: values are scanned by a script that answers their ids alone.
 */
final class Verifier {

    private static final byte[] START = {'0'};
    private static final int PAGE = 256;
    private static final int LEAST_PAGE = 8;
    private static final long PAGE_BYTES = 256 << 10;
    private static final int WALK_PAGE = 128;
    private static final int LIST_PAGE = 16;
    private static final int LINE_PAGE = 64;

    private final InspectionScripts scripts;
    private final Shelves shelves;
    private final String graph;
    private final Time time;
    private final GraphProgress progress;
    private final Census census;
    private final GraphStatistics before;
    private final IdTable.Stack open = new IdTable.Stack();
    /** Entries of edges that were read, and wait for those of their neighbours. */
    private final Map<ValueId, EdgeEntry> inLines = new LinkedHashMap<>();

    private boolean walking;

    Verifier(InspectionScripts scripts, Shelves shelves, String graph, int width, Time time, GraphProgress progress) {
        this.scripts = scripts;
        this.shelves = shelves;
        this.graph = graph;
        this.time = time;
        this.progress = progress;
        this.before = scripts.statistics();
        this.census = new Census(width, before.values());
    }

    /** What is done with the judgement while the session is still open: nothing, or repair. */
    interface Then<T> {
        T with(VerifyReport report, List<Judgement.Judged> judged, VerifySession session);
    }

    <T> T run(Then<T> then) {
        long begin = time.nanoTime();
        try (VerifySession session = VerifySession.begin(scripts, graph, this::noted)) {
            scanValues(session);
            scanShelves("counts", before.values(), session, census::count);
            scanShelves("edges", before.values(), session, this::edges);
            readLines();
            scanHash("roots", before.roots(), session, (name, root) -> census.root(text(name), root));
            scanHash("lease-info", before.leases(), session, (lease, info) -> census.leases.add(number(lease)));
            scanHeld(session);
            scanDeadlines(session);
            scanWorkList(session);
            walk(session);
            Judgement judgement = session.voided().isEmpty() ? Judgement.of(census) : Judgement.none();
            Duration took = Duration.ofNanos(time.nanoTime() - begin);
            VerifyReport report = judgement.report(census, session.voided(), took);
            return then.with(report, judgement.judged(), session);
        }
    }

    private void noted(byte[] idOrLease) {
        int id = census.noted(idOrLease);
        if (walking && id != IdTable.NONE && census.flags.set(id, Census.REACHED)) {
            open.push(id);
        }
    }

    private void scanValues(VerifySession session) {
        for (String shelf : shelves.inUse("values")) {
            scanValues(shelf, session);
        }
        tell("values", census.values, before.values());
    }

    private void scanValues(String shelf, VerifySession session) {
        byte[] cursor = START;
        int count = LEAST_PAGE;
        do {
            Fields page = scripts.scan(shelf, cursor, count);
            for (int at = 0; at < page.packed().length; at += census.width) {
                if (shelves.isAt("values", shelf, page.packed(), at)) {
                    census.value(page.packed(), at);
                } else {
                    census.misplaced("values", shelf);
                }
            }
            for (byte[] field : page.chunks()) {
                if (field != null && shelves.isAt("values", shelf, field, 0)) {
                    census.valueChunk(field);
                } else {
                    census.misplaced("values", shelf);
                }
            }
            count = nextPage(count, page.bytes());
            cursor = page.cursor();
            session.page();
            tell("values", census.values, before.values());
        } while (!isEnd(cursor));
    }

    private void scanShelves(String part, long total, VerifySession session, BiConsumer<byte[], byte[]> entry) {
        long done = 0;
        for (String shelf : shelves.inUse(part)) {
            BiConsumer<byte[], byte[]> inPlace = (field, value) -> {
                if (shelves.isAt(part, shelf, field, 0)) {
                    entry.accept(field, value);
                } else {
                    census.misplaced(part, shelf);
                }
            };
            done = scanHash(part, shelves.key(part, shelf), done, total, session, inPlace);
        }
        tell(part, done, total);
    }

    private void scanHash(String part, long total, VerifySession session, BiConsumer<byte[], byte[]> entry) {
        scanHash(part, scripts.key(part), 0, total, session, entry);
    }

    /** Answers how many entries of the part are done, those before included. */
    private long scanHash(
            String part, byte[] key, long before, long total, VerifySession session, BiConsumer<byte[], byte[]> entry) {
        byte[] cursor = START;
        int count = LEAST_PAGE;
        long done = before;
        do {
            Reply page = scripts.link()
                    .command(Command.HSCAN, key, cursor, GraphScripts.ascii("COUNT"), GraphScripts.number(count));
            List<byte @Nullable []> flat = page.part(1).allBytes();
            long bytes = 0;
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                byte[] field = flat.get(i);
                byte[] value = flat.get(i + 1);
                if (field != null && value != null) {
                    entry.accept(field, value);
                    bytes += value.length;
                }
            }
            done += flat.size() / 2;
            count = nextPage(count, bytes);
            cursor = page.bytes(0);
            session.page();
            tell(part, done, total);
        } while (!isEnd(cursor));
        return done;
    }

    private void edges(byte[] field, byte[] bytes) {
        if (!census.isNewInEdges(field)) {
            return;
        }
        Optional<EdgeEntry> entry = read(bytes);
        if (entry.isEmpty() || (entry.get().isInLine() && field.length != census.width)) {
            census.unreadableEdges(field);
        } else if (entry.get().isInLine()) {
            inLines.put(ValueId.of(field), entry.get());
            if (inLines.size() == LINE_PAGE) {
                readLines();
            }
        } else {
            census.edges(field, bytes);
        }
    }

    /**
     * What values in lines hold depends on the one before. That may have left the line since the entry was read; then both,
     * and what they hold, were noted.
     */
    private void readLines() {
        Set<ValueId> neighbours = new LinkedHashSet<>();
        inLines.values().forEach(entry -> neighbours.addAll(entry.neighbours()));
        Map<ValueId, EdgeEntry> found = new HashMap<>();
        if (!neighbours.isEmpty()) {
            List<byte[]> fields = neighbours.stream().map(ValueId::raw).toList();
            Iterator<ValueId> ids = neighbours.iterator();
            for (byte[] bytes : shelves.getAll("edges", fields)) {
                ValueId id = ids.next();
                Optional.ofNullable(bytes).flatMap(this::read).ifPresent(entry -> found.put(id, entry));
            }
        }
        inLines.forEach((id, entry) -> {
            EdgeEntry before = found.getOrDefault(entry.before(), EdgeEntry.NONE);
            EdgeEntry after = found.getOrDefault(entry.after(), EdgeEntry.NONE);
            boolean isAfter = entry.before() == null || Objects.equals(id, before.after());
            boolean isBefore = entry.after() == null || Objects.equals(id, after.before());
            if (isAfter && isBefore) {
                census.edgesInLine(id, entry, before);
            } else {
                census.brokenLine(
                        id,
                        entry,
                        new EdgeEntry(
                                entry.packed(), isAfter ? entry.before() : null, isBefore ? entry.after() : null));
            }
        });
        inLines.clear();
    }

    private Optional<EdgeEntry> read(byte[] entry) {
        try {
            return Optional.of(EdgeEntry.read(entry, census.width));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** In order of bytes, so that no element comes twice. */
    private void scanHeld(VerifySession session) {
        byte[] from = {'-'};
        byte[] end = {'+'};
        long done = 0;
        while (true) {
            List<byte @Nullable []> page = command(
                            Command.ZRANGEBYLEX,
                            "held",
                            from,
                            end,
                            GraphScripts.ascii("LIMIT"),
                            START,
                            GraphScripts.number(PAGE))
                    .allBytes();
            byte[] last = null;
            for (byte[] member : page) {
                if (member != null) {
                    census.held(member);
                    last = member;
                }
            }
            session.page();
            done += page.size();
            tell("held", done, done);
            if (last == null || page.size() < PAGE) {
                return;
            }
            from = ByteBuffer.allocate(last.length + 1)
                    .put((byte) '(')
                    .put(last)
                    .array();
        }
    }

    private void scanDeadlines(VerifySession session) {
        List<Long> leases = new ArrayList<>(census.leases);
        for (int from = 0; from < leases.size(); from += PAGE) {
            List<Long> some = leases.subList(from, Math.min(leases.size(), from + PAGE));
            List<byte @Nullable []> deadlines = command(
                            Command.ZMSCORE,
                            "leases",
                            some.stream().map(Verifier::leaseBytes).toArray(byte[][]::new))
                    .allBytes();
            for (int i = 0; i < some.size(); i++) {
                if (deadlines.get(i) != null) {
                    census.leasesWithDeadline.add(some.get(i));
                }
            }
            session.page();
        }
    }

    /** From its head: the list grows and shrinks at its tail, so what stays in it stays where it is. */
    private void scanWorkList(VerifySession session) {
        for (int from = 0; ; from += LIST_PAGE) {
            List<byte @Nullable []> page = command(
                            Command.LRANGE,
                            "doomed",
                            GraphScripts.number(from),
                            GraphScripts.number(from + LIST_PAGE - 1))
                    .allBytes();
            page.forEach(hint -> {
                if (hint != null) {
                    census.listed(hint);
                }
            });
            session.page();
            tell("doomed", from, Math.max(from, before.doomed()));
            if (page.size() < LIST_PAGE) {
                return;
            }
        }
    }

    private void walk(VerifySession session) {
        session.fetchAll();
        for (int id = 0; id < census.ids.size(); id++) {
            boolean begin = census.flags.has(id, Census.REACHED)
                    || census.flags.has(id, Census.CHANGED)
                    || census.holds.get(id) == 0
                    || census.storedHolds(id) == 0;
            if (begin) {
                census.flags.set(id, Census.REACHED);
                open.push(id);
            }
        }
        walking = true;
        long walked = 0;
        do {
            while (!open.isEmpty()) {
                walked += walkSome();
                session.page();
                tell("reachable", walked, census.edges);
            }
            session.fetchAll(); // what was noted meanwhile is a beginning, too
        } while (!open.isEmpty() && session.voided().isEmpty());
    }

    /** Reads the edges of some values and goes on to their children; answers how many edges. */
    private long walkSome() {
        List<byte[]> fields = new ArrayList<>(WALK_PAGE);
        while (!open.isEmpty() && fields.size() < WALK_PAGE) {
            int id = open.pop();
            if (census.flags.has(id, Census.PARENT)) {
                fields.add(census.ids.bytes(id));
            }
            Census.Large large = census.flags.has(id, Census.LARGE) ? census.large.get(id) : null;
            if (large != null) {
                ValueId value = census.ids.id(id);
                large.edges.stream().forEach(chunk -> fields.add(ValueReader.chunkField(value, chunk)));
            }
        }
        long edges = 0;
        for (int from = 0; from < fields.size(); from += WALK_PAGE) {
            List<byte[]> some = fields.subList(from, Math.min(fields.size(), from + WALK_PAGE));
            for (byte[] entry : shelves.getAll("edges", some)) {
                byte[] list = Optional.ofNullable(entry)
                        .flatMap(this::read)
                        .orElse(EdgeEntry.NONE)
                        .packed();
                for (int at = 0; at < list.length; at += census.width) {
                    int child = census.ids.find(list, at);
                    if (child != IdTable.NONE && census.flags.set(child, Census.REACHED)) {
                        open.push(child);
                    }
                    edges++;
                }
            }
        }
        return edges;
    }

    private Reply command(Command command, String part, byte[]... arguments) {
        return scripts.link().command(command, scripts.key(part), arguments);
    }

    private void tell(String phase, long done, long total) {
        progress.at(phase, done, Math.max(done, total));
    }

    /** Pages of about the same number of bytes, however large the entries are. */
    private static int nextPage(int count, long bytes) {
        if (bytes > PAGE_BYTES) {
            return Math.max(LEAST_PAGE, count / 4);
        }
        return bytes < PAGE_BYTES / 2 ? Math.min(PAGE, count * 2) : count;
    }

    private static boolean isEnd(byte[] cursor) {
        return cursor.length == 1 && cursor[0] == '0';
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static long number(byte[] lease) {
        return lease.length == Long.BYTES ? ByteBuffer.wrap(lease).getLong() : 0;
    }

    static byte[] leaseBytes(long lease) {
        return ByteBuffer.allocate(Long.BYTES).putLong(lease).array();
    }
}
