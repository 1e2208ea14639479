package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.Why;
import io.holdfast.redis.graph.GraphScripts.Freed;
import io.holdfast.redis.graph.GraphScripts.Opened;
import io.holdfast.redis.graph.GraphScripts.RootAnswer;
import io.holdfast.redis.graph.GraphScripts.RootChange;
import io.holdfast.redis.graph.GraphScripts.Taken;
import io.holdfast.redis.link.Client;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * A graph of immutable values on Redis. A value is a byte string with children; it lives exactly as long as something
 * holds it: a parent, a root, a lease.
 *
 * <h2>What it promises</h2>
 *
 * <ol>
 *   <li>What is held, directly or through others, is there, with its bytes.
 *   <li>Counts equal holds: every hold is made and given up in the same script that does the thing itself.
 *   <li>No call keeps the server longer than its budget, whatever the shape of the graph.
 *   <li>When everybody crashes at once, then as soon as any client runs again at most the current leases' worth of
 *       garbage is left, for as long as they run.
 * </ol>
 *
 * <h2>How it stays true</h2>
 *
 * <p><b>The life of a value.</b> (1) A {@link GraphWriter} puts it, in a batch that is applied whole and once; the
 * writer's lease holds it. (2) A parent or a root takes the hold over. (3) Further parents, roots, holds and snapshots
 * add to its count. (4) The last one gives up: the value is <i>doomed</i>, which is a count of 0 and a hint in the work
 * list. (5) {@link CascadeDuty} frees it, which gives up its holds on its children, and so on, a budget of edges at a
 * time. Between (4) and (5) a content-addressed put of the same value takes it back.
 *
 * <p><b>No dangling edge, no cycle.</b> Children must be alive when their parent is put, and ids are not known before
 * the put, so edges point only from newer to older values.
 *
 * <p><b>Repeats and late calls.</b> A batch carries its lease and a sequence number; a change of a root names the
 * version it changes; a call that takes a lease says until when it is meant, and the lease outlives that moment. So
 * every call may be sent again, and a call that arrives late changes nothing.
 *
 * <p><b>Time</b> is the server's. This process's monotonic clock only decides when to stop relying on a lease: before
 * the server would let it lapse.
 *
 * <p><b>A replaced store.</b> Scripts that reclaim compare the server's run id with the one in {@code meta}. If it is
 * another one, nothing lapses and nothing is reclaimed for as long as the longest lease; holders renew meanwhile.
 *
 * <p>Everything of a graph is in one slot. To spread over a cluster, use many graphs.
 */
public final class ValueGraph implements AutoCloseable {

    private static final System.Logger LOG = System.getLogger(ValueGraph.class.getName());
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] NOTHING = {};

    private final Client client;
    private final Keyspace keyspace;
    private final GraphScripts scripts;
    private final Addressing addressing;
    private final String incarnation;
    private final ServerClock serverClock;
    private final LeaseKeeper keeper;
    private final CascadeDuty cascade;
    private final Shelves shelves;
    private final ValueReader reader;
    private final @Nullable ValueCache cache;
    private final InspectionScripts inspectionScripts;
    private final Set<GraphWriter> writers = ConcurrentHashMap.newKeySet();
    private volatile boolean destroyed;

    private ValueGraph(Client client, String name, @Nullable ValueCache cache) {
        this.client = client;
        this.keyspace = new Keyspace("graph", name, 0);
        this.scripts = new GraphScripts(
                client.link(),
                keyspace,
                client.self(),
                client.settings().get(GraphSettings.LEDGER_RECORDS),
                client.settings().get(GraphSettings.STEP_EDGES));
        this.inspectionScripts = new InspectionScripts(scripts);
        this.addressing = client.settings().get(GraphSettings.ADDRESSING);
        this.serverClock = new ServerClock(client.time());
        Opened opened = openShard();
        this.incarnation = opened.incarnation();
        this.shelves = new Shelves(scripts, addressing.width(), opened.shelf());
        this.reader = new ValueReader(scripts, shelves, name, addressing.width());
        this.cache = cache;
        this.keeper = new LeaseKeeper("graph " + name, scripts, client.time());
        this.cascade =
                new CascadeDuty(name, addressing.width(), scripts, client.notices(), client.self(), client.time());
    }

    /** Opens the named graph, and makes it if there is none. Its duties run on the client's runner. */
    public static ValueGraph open(Client client, String name, @Nullable ValueCache cache) {
        ValueGraph graph = new ValueGraph(client, name, cache);
        graph.keeper.startOn(client.duties());
        graph.cascade.startOn(client.duties());
        return graph;
    }

    private Opened openShard() {
        Duration longest = client.settings().get(GraphSettings.WRITER_LEASE);
        Duration snapshots = client.settings().get(GraphSettings.SNAPSHOT_LEASE);
        longest = longest.compareTo(snapshots) < 0 ? snapshots : longest;
        String newLife = HexFormat.of().toHexDigits(RANDOM.nextLong());
        Opened opened = scripts.open(addressing, newLife, longest.toMillis());
        if (!opened.layout().equals(GraphScripts.LAYOUT)) {
            throw HoldfastException.misuse(
                    "graph " + name() + " has layout " + opened.layout() + ", and this version of Holdfast knows "
                            + GraphScripts.LAYOUT,
                    "use the version of Holdfast that made it, or export it there and import it here");
        }
        if (opened.width() != addressing.width()) {
            throw HoldfastException.misuse(
                    "graph " + name() + " was made with addressing " + opened.addressing() + ", not "
                            + addressing.word(),
                    "set graph.addressing to " + opened.addressing() + ", or choose another name");
        }
        serverClock.heard(opened.serverMillis());
        return opened;
    }

    public String name() {
        return keyspace.name();
    }

    /** Which life of the graph this is; another one after it was destroyed and made again. */
    public String incarnation() {
        return incarnation;
    }

    /** A writer with a lease of its own. */
    public GraphWriter writer() {
        GraphLease lease = new GraphLease(client.settings().get(GraphSettings.WRITER_LEASE), "writer", client.time());
        take(lease, 'w', NOTHING, "a writer");
        GraphWriter writer = new GraphWriter(this, lease);
        writers.add(writer);
        keeper.keep(lease, () -> null);
        return writer;
    }

    public Root root(String name) {
        return new Root(this, name);
    }

    /** All roots and what they name. */
    public Map<String, ValueId> roots() {
        Map<String, ValueId> roots = new LinkedHashMap<>();
        byte[] cursor = {'0'};
        do {
            Reply page = link().command(
                            Command.HSCAN,
                            scripts.key("roots"),
                            cursor,
                            GraphScripts.ascii("COUNT"),
                            GraphScripts.ascii("512"));
            List<Reply> flat = page.part(1).parts();
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                Root.parse(flat.get(i + 1).bytes(), "0")
                        .target()
                        .ifPresent(put(roots, flat.get(i).text()));
            }
            cursor = page.bytes(0);
        } while (cursor.length != 1 || cursor[0] != '0');
        return roots;
    }

    private static Consumer<ValueId> put(Map<String, ValueId> roots, String name) {
        return target -> roots.put(name, target);
    }

    /** Holds a value for as long as the result is open; it must be held by something now. */
    public Hold hold(ValueId id, Duration length) {
        beforeUse(id);
        GraphLease lease = new GraphLease(checkLength(length), "hold", client.time());
        take(lease, 'h', id.raw(), "value " + id);
        Hold hold = new Hold(this, id, lease);
        keep(hold);
        return hold;
    }

    /** Holds what a root names now, for reading. */
    public Snapshot snapshot(String root) {
        Duration length = client.settings().get(GraphSettings.SNAPSHOT_LEASE);
        GraphLease lease = new GraphLease(length, "snapshot", client.time());
        byte[] target = take(lease, 's', root.getBytes(StandardCharsets.UTF_8), "root " + root);
        Snapshot snapshot = new Snapshot(this, root, ValueId.of(target), lease);
        keep(snapshot);
        return snapshot;
    }

    /** The value, if it is there now. Without a hold it may be gone the next moment. */
    public Optional<byte[]> find(ValueId id) {
        beforeUse(id);
        return reader.find(id);
    }

    /** Those of the values that are there now. */
    public Map<ValueId, byte[]> findAll(List<ValueId> ids) {
        ids.forEach(this::beforeUse);
        return reader.findAll(ids);
    }

    public List<ValueId> children(ValueId id) {
        beforeUse(id);
        return reader.children(id);
    }

    /** What was reclaimed here, and why. */
    public RedisLedger ledger() {
        return new RedisLedger(link(), scripts.key("ledger"), client.settings().get(GraphSettings.LEDGER_RECORDS));
    }

    /** Statistics, verify, repair, why, preview, drawing. */
    public GraphInspection inspect() {
        return new GraphInspection(this, client.time());
    }

    /** Hands over all values, some perhaps twice; those that come and go meanwhile may be among them or not. */
    public void readAll(GraphMark.ValueVisitor visitor) throws Exception {
        GraphMark.readAll(this, visitor);
    }

    /** Pauses freeing, so that all values can be read as of one moment; see {@link GraphMark}. */
    public GraphMark mark() {
        return new GraphMark(this, client.settings().get(GraphSettings.MARK_LEASE), client.time());
    }

    /** Writes what hangs on a root, as it is now, to a file of {@link ExportFile}'s form; answers how many values. */
    public int exportTo(OutputStream to, String root, GraphProgress progress) throws IOException {
        try (Snapshot snapshot = snapshot(root)) {
            return new GraphExport(this, progress).write(snapshot, to);
        }
    }

    /**
     * Puts the values of an exported file and lets a root name the last, as the exported root did; answers how many. Of a
     * file that is damaged nothing stays.
     */
    public int importFrom(InputStream from, String root, GraphProgress progress) {
        root(root); // a bad name is refused before anything is written
        ExportFile.Reader file = new ExportFile.Reader(from, client.settings().get(GraphSettings.LARGEST_VALUE));
        return new GraphExport(this, progress).read(file, root);
    }

    /**
     * Ends the graph, with all that is in it, whoever holds it. Takes the server a moment whatever the size: the memory is
     * freed beside its other work. Calls that come later are answered GONE; the ledger stays and says DESTROYED.
     */
    public void destroy() {
        inspectionScripts.destroy(incarnation);
        destroyed = true;
        close();
    }

    /**
     * Pauses the graph: no lease lapses and no value is freed until {@link #resume}. What is given up meanwhile waits.
     *
     * @param by who pauses it
     * @param why for people
     */
    public void pause(String by, String why) {
        scripts.pause(true, by, why);
    }

    /** Lifts a pause. Every lease then has its whole length to be renewed before anything is freed. */
    public void resume(String by) {
        scripts.pause(false, by, "");
    }

    /** Whether this process has destroyed the graph. */
    public boolean isDestroyed() {
        return destroyed;
    }

    /** How the ids of the named graph are made; empty if there is no such graph. Makes none. */
    public static Optional<Addressing> existing(RedisLink link, String name) {
        byte[] word = link.command(
                        Command.HGET, new Keyspace("graph", name, 0).key("meta"), GraphScripts.ascii("addressing"))
                .bytesOrNull();
        return word == null
                ? Optional.empty()
                : Optional.of(GraphSettings.ADDRESSING.parse(new String(word, StandardCharsets.US_ASCII)));
    }

    /** What the ledger of a graph says of a thing that is gone, also when the graph itself is. */
    public static Why whyGone(RedisLink link, ThingId thing) {
        byte[] stream = new Keyspace("graph", thing.space(), 0).key("ledger");
        return WhyWalk.gone(new RedisLedger(link, stream, 1), thing);
    }

    private void keep(Hold hold) {
        keeper.keep(hold.lease(), () -> holdAgain(hold));
        cascade.wakeIn(hold.lease().length());
    }

    /** The lease of a hold was lost. If the value is still alive, a new lease on it is as good. RETRY: not known yet. */
    private @Nullable GraphLease holdAgain(Hold hold) {
        if (hold.isClosed()) {
            return null;
        }
        GraphLease next = new GraphLease(hold.lease().length(), "hold", client.time());
        try {
            take(next, 'h', hold.target().raw(), "value " + hold.target());
        } catch (HoldfastException e) {
            if (e.isRetryable()) {
                throw e;
            }
            LOG.log(Level.WARNING, "a hold on value {0} of graph {1} has lapsed", hold.target(), name());
            return null;
        }
        hold.continueUnder(next);
        if (hold.isClosed()) { // meanwhile, and it may have released the lost lease
            releaseQuietly(next);
            return null;
        }
        return next;
    }

    /** Takes a lease; answers what it holds. */
    private byte[] take(GraphLease lease, char kind, byte[] target, String what) {
        Taken taken = null;
        for (int attempt = 0; attempt < 3; attempt++) {
            long sent = client.time().nanoTime();
            long length = lease.length().toMillis();
            taken = scripts.hold(
                    lease.id(),
                    serverClock.millis() + length,
                    length,
                    kind,
                    client.self().toString(),
                    target);
            serverClock.heard(taken.serverMillis());
            if (taken.status().equals("OK")) {
                lease.bornAt(taken.born());
                lease.renewedFrom(sent);
                return taken.target();
            }
            if (!taken.status().equals("STALE")) {
                break; // STALE: the server's clock was set forward; now we know it
            }
        }
        String status = taken == null ? "" : taken.status();
        throw switch (status) {
            case "NOROOT" -> new HoldfastException(Category.GONE, "there is no " + what + " in graph " + name());
            case "GONE" ->
                new HoldfastException(Category.GONE, what + " is unknown or already reclaimed in graph " + name());
            case "BUILDING" -> new HoldfastException(Category.RETRY, what + " is still being written");
            default -> new HoldfastException(Category.RETRY, "holding " + what + ": the server answered " + status);
        };
    }

    void release(Hold hold) {
        keeper.forget(hold.lease());
        releaseQuietly(hold.lease());
    }

    /** Releases a lease; if that fails, it lapses. */
    void releaseQuietly(GraphLease lease) {
        try {
            tell(scripts.release(lease.id()));
            wake();
        } catch (HoldfastException e) {
            LOG.log(Level.DEBUG, "a lease of graph {0} could not be released and will lapse: {1}", name(), e);
        }
    }

    /** Tells the listeners of this process what a call of it has freed at once. */
    void tell(Freed freed) {
        cascade.tell(freed.packed(), ReclaimReason.RELEASED, freed.cause());
    }

    void forget(GraphWriter writer) {
        writers.remove(writer);
        keeper.forget(writer.lease());
    }

    /** Sees to it that a value which this process has put is in the store before it is used. */
    void beforeUse(ValueId id) {
        reader.check(id);
        boolean sent = false;
        HoldfastException refused = null;
        for (GraphWriter writer : writers) {
            try {
                sent |= writer.flushIfPending(id);
            } catch (HoldfastException e) {
                refused = ended(e);
            }
        }
        if (refused != null && !sent) {
            throw refused;
        }
    }

    /** Lets a root name a value. A writer of this process that has put it sends it first, and hands its hold over. */
    RootAnswer name(ValueId id, RootChange change) {
        List<GraphWriter> pendingFirst = new ArrayList<>(writers);
        pendingFirst.sort(Comparator.comparing(writer -> !writer.isPending(id)));
        HoldfastException refused = null;
        for (GraphWriter writer : pendingFirst) {
            try {
                RootAnswer answer = writer.name(id, change);
                if (answer != null) {
                    return answer;
                }
            } catch (HoldfastException e) {
                refused = ended(e);
            }
        }
        RootAnswer answer = scripts.root(change, null);
        if (refused != null && answer.status().equals("GONE")) {
            throw refused;
        }
        return answer;
    }

    /** A writer that has ended keeps nobody from a value that others have put too, as content is the same. */
    private static HoldfastException ended(HoldfastException refusal) {
        if (refusal.isRetryable()) {
            throw refusal;
        }
        return refusal;
    }

    ValueId newId(byte[] value, List<ValueId> children, int shelf) {
        return addressing == Addressing.CONTENT
                ? Addressing.ofContent(value, children)
                : Addressing.timeOrdered(client.time(), shelf, GraphWriter.isLeaf(value, children));
    }

    void checkSize(int bytes) {
        long largest = client.settings().get(GraphSettings.LARGEST_VALUE);
        if (bytes > largest) {
            throw HoldfastException.misuse(
                    "a value of " + bytes + " bytes; the largest allowed is " + largest,
                    "split it into children, or raise graph.largest-value");
        }
    }

    private static Duration checkLength(Duration length) {
        return GraphSettings.SNAPSHOT_LEASE.check(length);
    }

    /** There may be something to reclaim. */
    void wake() {
        cascade.wakeSoon();
    }

    int width() {
        return addressing.width();
    }

    GraphScripts scripts() {
        return scripts;
    }

    Shelves shelves() {
        return shelves;
    }

    InspectionScripts inspectionScripts() {
        return inspectionScripts;
    }

    ValueReader reader() {
        return reader;
    }

    CachedReads readsUnder(Hold hold) {
        return new CachedReads(reader, cache, incarnation, hold.target(), hold::lease);
    }

    RedisLink link() {
        return client.link();
    }

    /** Stops the duties of this graph in this process. Holds that are open lapse. */
    @Override
    public void close() {
        keeper.stop();
        cascade.stop();
        new ArrayList<>(writers).forEach(writers::remove);
    }
}
