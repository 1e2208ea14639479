package io.holdfast.redis.graph;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.GraphScripts.Answer;
import io.holdfast.redis.graph.GraphScripts.Named;
import io.holdfast.redis.graph.GraphScripts.RootAnswer;
import io.holdfast.redis.graph.GraphScripts.RootChange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Puts values. {@link #put} gathers and returns the id at once; full batches go to Redis by themselves, the rest by
 * {@link #flush()} or when a root, a hold or a read of this process needs one of the ids.
 *
 * <p><b>Lifetime.</b> What a writer put is held by the writer's lease until a parent or a root holds it. The lease
 * renews itself; {@link #close()} flushes and releases; if the process dies the lease lapses, and what nobody else
 * holds is reclaimed. So a writer that dies leaves nothing behind.
 *
 * <p><b>All or nothing.</b> A batch is applied whole, once, however often it is sent: it carries the lease and a
 * sequence number. A batch that the server refuses (a child that is gone, the lease that lapsed) ends the writer: what
 * was put before stays as it is, nothing of the batch is written, and every later call says why. A failure of category
 * RETRY ends nothing: the next call sends the same batch again. A batch that counted on predecessors which are of no use
 * is made anew without them, and then may go in parts.
 *
 * <p>Safe for several threads; they take turns.
 */
public final class GraphWriter implements AutoCloseable {

    static final int BATCH_BYTES = 256 << 10;
    /** More children than this, or more bytes than {@link #BATCH_BYTES}, and a value is written in chunks. */
    static final int MOST_EDGES = 256;
    /** As many children are in a chunk: they lose a hold in one step, and may all go in it. */
    private static final int CHUNK_EDGES = 128;
    /** No script fetches larger values to see whether they are there. */
    static final int SMALL_BYTES = 1 << 10;

    private static final int TRIES = 50;
    private static final byte[] GROWS = GraphScripts.ascii("GROWS");

    /** More children than this, and a value is in no line: what leaves one is compared with its neighbours. */
    static final int LINE_EDGES = 64;

    /**
     * A value that waits for its batch.
     *
     * @param before the value that it goes after in a line, if any: one of the batch, or one that is in Redis already
     */
    record Pending(
            byte[] bytes, List<ValueId> children, @Nullable Predecessor before) {

        Pending(byte[] bytes, List<ValueId> children) {
            this(bytes, children, null);
        }

        /** The same in no line, if it was to go after one of these. */
        Pending withoutOneOf(Set<ValueId> befores) {
            return before != null && befores.contains(before.id()) ? new Pending(bytes, children) : this;
        }

        /** Those that the one before does not hold. */
        List<ValueId> ownChildren() {
            return before == null ? children : EdgeEntry.ownChildren(children, before.children());
        }

        /** Leaves need no entry in counts: a script may fetch them to see whether they are there. */
        boolean isLeaf() {
            return GraphWriter.isLeaf(bytes, children);
        }

        /** In values, in edges, in counts; and that of the one before. */
        int entries() {
            return 1 + (children.isEmpty() ? 0 : 1) + (isLeaf() ? 0 : 1) + (before == null ? 0 : 1);
        }
    }

    /**
     * What one call has to do: entries of all hashes, bytes, and edges. Those to children of the same batch, and those that
     * a value shares with the one before, are written and compared, and nobody is asked for them: they count a quarter. Bounded,
     * so that it keeps the server no longer than a step: while a table of the store grows, few entries take as long as
     * many do otherwise.
     */
    private record Size(int entries, int bytes, int edges) {

        private static final int MOST_ENTRIES = 640;
        private static final int FEW_ENTRIES = 128;
        private static final int MOST_EDGES = 384;
        private static final Size NONE = new Size(0, 0, 0);

        /**
         * @param others the batch that the value comes to
         * @param tops those of them that none of them names: each is an entry of what the lease holds
         */
        Size plus(ValueId id, Pending value, Map<ValueId, Pending> others, Set<ValueId> tops) {
            int asked = 0;
            for (ValueId child : value.ownChildren()) {
                asked += others.containsKey(child) ? 0 : 1;
            }
            int written = value.children().size() - asked;
            int named = 0;
            for (ValueId child : Set.copyOf(value.children())) {
                named += tops.contains(child) ? 1 : 0;
            }
            // Whether the store has it already is looked up where content makes the id.
            int own = id.width() == ValueId.CONTENT ? 2 * value.entries() : value.entries();
            return new Size(entries + own + 1 - named, bytes + value.bytes().length, edges + asked + (written + 3) / 4);
        }

        boolean fits(boolean tableGrows) {
            return entries <= (tableGrows ? FEW_ENTRIES : MOST_ENTRIES) && bytes <= BATCH_BYTES && edges <= MOST_EDGES;
        }
    }

    private final ValueGraph graph;
    private final GraphLease lease;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<ValueId, Pending> batch = new LinkedHashMap<>();
    /** The value of the batch that goes after another one in its line. */
    private final Map<ValueId, ValueId> afterInBatch = new HashMap<>();
    /** Those of the batch that no other one of it names. */
    private final Set<ValueId> tops = new HashSet<>();
    /** What the lease holds. */
    private final Set<ValueId> mine = new HashSet<>();

    private Size size = Size.NONE;
    /** As the server said last. */
    private boolean tableGrows;

    /** Of the values of the batch. */
    private int shelf;

    private long sequence;
    /** Sent, but not answered: must be sent again as it is before anything else. */
    private @Nullable PutRequest unanswered;

    /** What a root was to name with that call: the lease may hold it or not. */
    private @Nullable ValueId named;

    private @Nullable HoldfastException ended;
    private boolean closed;

    GraphWriter(ValueGraph graph, GraphLease lease) {
        this.graph = graph;
        this.lease = lease;
    }

    /** Puts a value whose children are the given ones, in their order. */
    public ValueId put(byte[] value, ValueId... children) {
        return put(value, Arrays.asList(children));
    }

    public ValueId put(byte[] value, List<ValueId> children) {
        return putValue(value, children, null);
    }

    /**
     * Puts the next version of a value, which shares most of its children with it, as a changed page of a tree does. Nothing
     * is different about the new value, but Redis has less to do: what both hold is counted once, and whichever is
     * reclaimed first leaves it to the other. For versions that follow each other: of several that are put after one and
     * the same value by different calls, the first gains, the others are plain puts.
     *
     * @param before the version before, as it was read; if it is gone, this is a plain put
     */
    public ValueId put(byte[] value, List<ValueId> children, Predecessor before) {
        return putValue(value, children, before);
    }

    private ValueId putValue(byte[] value, List<ValueId> children, @Nullable Predecessor before) {
        graph.checkSize(value.length);
        List<ValueId> checked = List.copyOf(children);
        if (before != null) {
            graph.reader().check(before.id());
            before.children().forEach(graph.reader()::check);
        }
        checked.forEach(graph.reader()::check);
        lock.lock();
        try {
            checkOpen();
            if (unanswered != null) {
                sendBatch();
            }
            ValueId id = newId(value, checked);
            if (batch.containsKey(id)) {
                return id;
            }
            if (value.length > BATCH_BYTES || checked.size() > MOST_EDGES) {
                sendBatch();
                putLarge(id, value, checked);
                return id;
            }
            Pending pending = new Pending(value.clone(), checked, before == null ? null : placeInLine(checked, before));
            if (!size.plus(id, pending, batch, tops).fits(tableGrows)) {
                sendBatch();
                id = newId(value, checked);
            }
            add(id, pending);
            return id;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a value is small and without children: then counts has nothing of it while it is held once. */
    static boolean isLeaf(byte[] value, List<ValueId> children) {
        return value.length <= SMALL_BYTES && children.isEmpty();
    }

    /** The values of a batch are on one shelf: which, is settled with the first. */
    private ValueId newId(byte[] value, List<ValueId> children) {
        if (batch.isEmpty()) {
            shelf = graph.shelves().current();
        }
        return graph.newId(value, children, shelf);
    }

    private void add(ValueId id, Pending pending) {
        size = size.plus(id, pending, batch, tops);
        batch.put(id, pending);
        pending.children().forEach(tops::remove);
        tops.add(id);
        if (pending.before() != null) {
            afterInBatch.put(pending.before().id(), id);
        }
    }

    /** Whom a value with these children goes after in the line of the one before: the last of the batch that is in it. */
    private @Nullable Predecessor placeInLine(List<ValueId> children, Predecessor before) {
        ValueId last = before.id();
        while (afterInBatch.containsKey(last)) {
            last = afterInBatch.get(last);
        }
        Pending ofBatch = batch.get(last);
        List<ValueId> earlier = ofBatch != null ? ofBatch.children() : before.children();
        boolean fits = graph.width() == ValueId.TIME_ORDERED
                && !children.isEmpty()
                && !earlier.isEmpty()
                && Math.max(children.size(), earlier.size()) <= LINE_EDGES;
        return fits ? new Predecessor(last, earlier) : null;
    }

    /** Sends what has gathered; when it returns, everything put so far is in Redis. */
    public void flush() {
        lock.lock();
        try {
            checkOpen();
            sendBatch();
        } finally {
            lock.unlock();
        }
    }

    /** Whether the value still has to be sent. */
    boolean isPending(ValueId id) {
        lock.lock();
        try {
            return batch.containsKey(id);
        } finally {
            lock.unlock();
        }
    }

    /** Sends the batch if the id is in it. Answers whether the lease holds the value then. */
    boolean flushIfPending(ValueId id) {
        lock.lock();
        try {
            if (batch.containsKey(id)) {
                checkOpen();
                sendBatch();
                return true;
            }
            return mine.contains(id);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets a root name a value that this writer has put, and hands the writer's hold over to it.
     *
     * @return the answer, or null if the writer does not hold the value
     */
    @Nullable
    RootAnswer name(ValueId id, RootChange change) {
        lock.lock();
        try {
            if (batch.containsKey(id)) {
                checkOpen();
                RootAnswer answer = sendBatchAndName(id, change);
                if (answer != null) {
                    return answer;
                }
            }
            if (!mine.contains(id) || closed || ended != null) {
                return null;
            }
            // Whatever comes of the call: at worst the lease holds the value a while longer than it need.
            mine.remove(id);
            return graph.scripts().root(change, lease.id());
        } finally {
            lock.unlock();
        }
    }

    /** The batch and the change in one round trip; or, answering null, the batch alone where it may take several. */
    private @Nullable RootAnswer sendBatchAndName(ValueId id, RootChange change) {
        boolean mayTakeSeveral = unanswered != null || graph.width() != ValueId.TIME_ORDERED || !size.fits(tableGrows);
        PutRequest request = mayTakeSeveral ? null : PutRequest.of(batch, Set.of(), mine);
        if (request == null || !request.tops().contains(id)) {
            sendBatch();
            return null;
        }
        unanswered = request;
        named = id;
        Named answer = graph.scripts().putAndName(lease, sequence + 1, request, change);
        take(answer.put(), request, new HashSet<>());
        if (batch.containsKey(id)) { // a line was refused
            sendBatch();
            return null;
        }
        return answer.root() != null ? answer.root() : graph.scripts().root(change, lease.id());
    }

    private void sendBatch() {
        Set<ValueId> present = new HashSet<>();
        for (int attempt = 1; !batch.isEmpty(); attempt++) {
            PutRequest request = unanswered != null ? unanswered : PutRequest.of(firstPart(), present, mine);
            unanswered = request;
            Answer answer = graph.scripts().put(lease, sequence + 1, request);
            take(answer, request, present);
            if (attempt == TRIES && !batch.isEmpty()) {
                throw new HoldfastException(
                        Category.RETRY, "graph " + graph.name() + " changes too fast: " + answer.status());
            }
        }
    }

    /** Takes note of what the server answered to a batch; {@code present} gets the values that it has already. */
    private void take(Answer answer, PutRequest request, Set<ValueId> present) {
        unanswered = null;
        switch (answer.status()) {
            case "OK" -> {
                sequence++;
                tableGrows = Arrays.equals(answer.detail(), GROWS);
                mine.addAll(request.tops());
                request.handed().forEach(mine::remove);
                if (named != null) {
                    // At worst the lease holds it a while longer than it need.
                    mine.remove(named);
                    named = null;
                }
                Map<ValueId, Pending> rest = new LinkedHashMap<>(batch);
                rest.keySet().removeAll(request.ids());
                rebuild(rest);
                follow(answer);
            }
            case "ALONE" -> {
                sequence++;
                named = null;
                Set<ValueId> useless = new HashSet<>(PutRequest.unpack(answer.detail(), graph.width()));
                Map<ValueId, Pending> all = new LinkedHashMap<>();
                batch.forEach((id, value) -> all.put(id, value.withoutOneOf(useless)));
                rebuild(all);
            }
            case "EXISTS" -> {
                sequence++;
                for (ValueId id : PutRequest.unpack(answer.detail(), graph.width())) {
                    if (!present.remove(id)) {
                        present.add(id);
                    }
                }
            }
            case "DRAINING" -> {
                sequence++;
                graph.scripts().step();
            }
            case "AGAIN" -> sequence++; // one of the two, whose answer was lost
            case "BUILDING" -> {
                unanswered = request; // it did nothing, but may still be under way once more: nothing is added to it
                throw end(answer);
            }
            default -> throw end(answer);
        }
    }

    /** New values belong where the server says, from the next batch on. */
    private void follow(Answer answer) {
        if (answer.shelf() >= 0) {
            graph.shelves().moveTo(answer.shelf());
        }
    }

    private void rebuild(Map<ValueId, Pending> values) {
        batch.clear();
        afterInBatch.clear();
        tops.clear();
        size = Size.NONE;
        values.forEach(this::add);
    }

    /**
     * The batch, or as much of it from its beginning as one call may do: more than that gathers only where lines are refused,
     * or a table of the store began to grow.
     */
    private Map<ValueId, Pending> firstPart() {
        if (size.fits(tableGrows)) {
            return batch;
        }
        Map<ValueId, Pending> part = new LinkedHashMap<>();
        Set<ValueId> topsOfPart = new HashSet<>();
        Size done = Size.NONE;
        for (Map.Entry<ValueId, Pending> entry : batch.entrySet()) {
            done = done.plus(entry.getKey(), entry.getValue(), part, topsOfPart);
            if (!done.fits(tableGrows) && !part.isEmpty()) {
                break;
            }
            part.put(entry.getKey(), entry.getValue());
            entry.getValue().children().forEach(topsOfPart::remove);
            topsOfPart.add(entry.getKey());
        }
        return part;
    }

    private void putLarge(ValueId id, byte[] value, List<ValueId> children) {
        for (int attempt = 1; attempt <= TRIES; attempt++) {
            if (buildAll(id, value, children) || holdToo(id, value, children)) {
                mine.add(id);
                return;
            }
        }
        throw new HoldfastException(Category.RETRY, "value " + id + " comes and goes too fast to be put");
    }

    /** Chunk after chunk under a state that nothing can hold, then sealed: never seen half there. False if it is there. */
    private boolean buildAll(ValueId id, byte[] value, List<ValueId> children) {
        int index = 0;
        for (int from = 0; from < value.length || index == 0; from += BATCH_BYTES) {
            byte[] chunk = Arrays.copyOfRange(value, from, Math.min(value.length, from + BATCH_BYTES));
            if (!build(id, 'v', index++, chunk, List.of())) {
                return false;
            }
        }
        index = 0;
        for (int from = 0; from < children.size(); from += CHUNK_EDGES) {
            List<ValueId> some = children.subList(from, Math.min(children.size(), from + CHUNK_EDGES));
            if (!build(id, 'e', index++, PutRequest.pack(some), some)) {
                return false;
            }
        }
        return build(id, 's', 0, new byte[0], List.of());
    }

    /** Sends one chunk; false if the value turns out to exist already. */
    private boolean build(ValueId id, char part, int index, byte[] data, List<ValueId> children) {
        Map<ValueId, Integer> adopted = new LinkedHashMap<>();
        children.forEach(child -> adopted.merge(child, 1, Integer::sum));
        List<ValueId> handed = new ArrayList<>();
        for (ValueId child : adopted.keySet()) {
            if (mine.contains(child)) {
                handed.add(child);
            }
        }
        handed.forEach(child -> adopted.merge(child, -1, Integer::sum));
        for (int attempt = 1; ; attempt++) {
            // A chunk that is not answered is given up: the number is used, so that it cannot arrive late.
            sequence++;
            Answer answer = graph.scripts()
                    .build(
                            lease,
                            sequence,
                            id,
                            part,
                            index,
                            data,
                            PutRequest.pack(adopted.keySet()),
                            PutRequest.words(adopted.values()),
                            PutRequest.pack(handed));
            switch (answer.status()) {
                case "OK" -> {
                    handed.forEach(mine::remove);
                    follow(answer);
                    return true;
                }
                case "EXISTS" -> {
                    return false;
                }
                case "DRAINING" -> graph.scripts().step();
                default -> throw end(answer);
            }
            if (attempt == TRIES) {
                throw new HoldfastException(Category.RETRY, "value " + id + " is still being drained");
            }
        }
    }

    /** The value is in the store already: this writer only holds it too. False if it is not there any more. */
    private boolean holdToo(ValueId id, byte[] value, List<ValueId> children) {
        PutRequest request = PutRequest.of(Map.of(id, new Pending(value, children)), Set.of(id), mine);
        // As with a chunk: whatever becomes of this call, no other has its number.
        sequence++;
        Answer answer = graph.scripts().put(lease, sequence, request);
        return switch (answer.status()) {
            case "OK" -> true;
            case "EXISTS", "AGAIN" -> false;
            case "DRAINING" -> {
                graph.scripts().step();
                yield false;
            }
            default -> throw end(answer);
        };
    }

    private HoldfastException end(Answer answer) {
        String detail = answer.detail().length == graph.width()
                ? ValueId.of(answer.detail()).toString()
                : "";
        HoldfastException why = switch (answer.status()) {
            case "GONE" ->
                new HoldfastException(
                        Category.GONE,
                        "value " + detail + " is unknown or already reclaimed, so nothing can have it as a child",
                        "hold a value until its parent is flushed; ask 'holdfast why value:" + graph.name() + "/"
                                + detail + "'",
                        null);
            case "BUILDING" ->
                new HoldfastException(Category.RETRY, "value " + detail + " is still being written by another writer");
            case "LAPSED", "STALE" -> lease.lapsed();
            default ->
                new HoldfastException(Category.CORRUPT, "graph " + graph.name() + " answered " + answer.status());
        };
        if (why.category() != Category.RETRY) {
            ended = why;
            graph.forget(this);
        }
        return why;
    }

    private void checkOpen() {
        if (ended != null) {
            throw ended;
        }
        if (closed) {
            throw HoldfastException.misuse("the writer is closed", "open a new one");
        }
        if (lease.isLost()) {
            throw lease.lapsed();
        }
    }

    GraphLease lease() {
        return lease;
    }

    /**
     * Sends what has gathered, then releases what no parent and no root holds. If Redis cannot be reached, the lease
     * lapses instead.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            try {
                if (ended == null && !lease.isLost()) {
                    sendBatch();
                }
            } finally {
                closed = true;
                graph.forget(this);
                if (!lease.isLost()) {
                    graph.releaseQuietly(lease);
                }
            }
        } finally {
            lock.unlock();
        }
    }
}
