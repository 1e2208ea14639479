package io.holdfast.redis.graph;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Every script call of a graph. The parts of a shard, all in one slot:
 *
 * <pre>
 *   meta        layout, width, addressing, incarnation, run id, quiet time, counters, the running verify and mark
 *   values      id -> bytes                           large values: id + chunk number -> bytes
 *   counts      id -> holds and state                 no entry: small, childless, held once
 *   edges       id -> packed child ids, neighbours in its line (lines.lua)   large values: id + chunk number -> packed child ids
 *               these three: a hash for every shelf (shelves.lua), so the keys of values are values:0 to values:63,
 *               and of counts one more for the leaves of a shelf: counts:64 to counts:127
 *   incoming    what the values of a shelf are called between the two runs of put.lua; at no other time
 *   roots       name -> version;operation;id
 *   leases      lease -> deadline                     sorted set
 *   lease-info  lease -> sequence;state;length;kind;born;holder;reply
 *   held        lease + id                            sorted set in order of bytes: what a lease holds
 *   doomed      work list of hints, newest last: cause and ids, or cause and a dead lease
 *   ledger      stream of what was reclaimed
 *   changed     the ids that changed while a verify ran
 * </pre>
 */
final class GraphScripts {

    static final String LAYOUT = "3";

    static final Script OPEN = script(
            "open.lua",
            "meta",
            "layout width addressing incarnation lease",
            "status layout width addressing incarnation now shelf");
    static final Script PUT = script(
            "put.lua",
            "incoming values meta counts edges leases lease-info held changed roots doomed ledger",
            "lease born sequence edges shared shared-counts adopted adopted-counts handed tops back back-counts"
                    + " back-tops fresh beside change befores bytes lists…",
            "status detail version floor freed shelf");
    static final Script BUILD = script(
            "build.lua",
            "meta values counts edges leases lease-info held changed incoming",
            "lease born sequence id part index data adopted adopted-counts handed",
            "status detail shelf");
    static final Script HOLD = script(
            "hold.lua",
            "meta values counts leases lease-info held roots changed incoming",
            "lease valid-until length kind holder target",
            "status target now born");
    static final Script RENEW = script("renew.lua", "meta leases lease-info", "lease…", "status now alive");
    static final Script PAUSE = script("pause.lua", "meta", "paused by why", "status");
    static final Script RELEASE = script(
            "release.lua",
            "meta values counts edges leases lease-info held doomed ledger changed incoming",
            "lease by space budget capacity",
            "status cause freed");
    static final Script ROOT = script(
            "root.lua",
            "meta values counts edges roots held doomed ledger changed incoming",
            "name expected floor target operation lease by space capacity",
            "status version target floor freed");
    static final Script STEP = script(
            "step.lua",
            "meta values counts edges leases lease-info held doomed ledger changed incoming",
            "by space budget capacity listen",
            "status freed edges pending next reason cause packed heard");

    private static final byte[] EMPTY = {};

    private final RedisLink link;
    private final Keyspace keyspace;
    private final byte[] by;
    private final byte[] capacity;
    private final byte[] budget;
    private final Map<Script, List<byte[]>> keys = new ConcurrentHashMap<>();

    GraphScripts(RedisLink link, Keyspace keyspace, HolderId self, int ledgerRecords, int stepEdges) {
        this.link = link;
        this.keyspace = keyspace;
        this.by = ascii(self.toString());
        this.capacity = number(ledgerRecords);
        this.budget = number(stepEdges);
    }

    private static Script script(String file, String keys, String arguments, String reply) {
        return Script.load(GraphScripts.class, file, keys, arguments, reply);
    }

    /** What a graph is, as its meta says. */
    record Opened(String layout, int width, String addressing, String incarnation, long serverMillis, int shelf) {}

    Opened open(Addressing addressing, String incarnation, long longestLeaseMillis) {
        Reply reply = call(
                OPEN,
                ascii(LAYOUT),
                number(addressing.width()),
                ascii(addressing.word()),
                ascii(incarnation),
                number(longestLeaseMillis));
        return new Opened(reply.text(1), (int) reply.number(2), reply.text(3), reply.text(4), reply.number(5), (int)
                reply.number(6));
    }

    /**
     * A status word and what it is about.
     *
     * @param shelf where new values belong from now on; -1 if that is not said
     */
    record Answer(String status, byte[] detail, int shelf) {}

    Answer put(GraphLease lease, long sequence, PutRequest request) {
        return answer(putting(lease, sequence, request, EMPTY), 5);
    }

    private Reply putting(GraphLease lease, long sequence, PutRequest request, byte[] change) {
        List<byte[]> arguments = new ArrayList<>(request.lists().size() + 16);
        arguments.add(lease.id());
        arguments.add(ascii(lease.born()));
        arguments.add(number(sequence));
        arguments.addAll(request.head());
        arguments.add(change);
        arguments.addAll(request.tail(change.length > 0));
        return link.call(new Call(PUT, keysOf(PUT), arguments, request.beside()));
    }

    private Answer answer(Reply reply, int shelfAt) {
        checked(reply);
        boolean saysShelf = reply.size() > shelfAt && !reply.text(shelfAt).isEmpty();
        return new Answer(reply.text(0), reply.bytes(1), saysShelf ? (int) reply.number(shelfAt) : -1);
    }

    /**
     * What became of a batch, and of the root that was to name a value of it.
     *
     * @param root null if it was not changed, for whatever reason: {@link #root} will say
     */
    record Named(Answer put, @Nullable RootAnswer root) {}

    /** Puts a batch and lets a root name a value of it, in one call, which also ends the value that the root named before. */
    Named putAndName(GraphLease lease, long sequence, PutRequest request, RootChange change) {
        Reply reply = putting(lease, sequence, request, packed(change));
        Answer put = answer(reply, 5);
        boolean changed =
                put.status().equals("OK") && reply.size() > 2 && !reply.text(2).isEmpty();
        return new Named(
                put,
                changed ? new RootAnswer("OK", reply.text(2), change.target(), reply.text(3), reply.joined(4)) : null);
    }

    /** The change as version.lua takes it: each part behind its length. */
    private byte[] packed(RootChange change) {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        List<byte[]> parts = List.of(
                change.name().getBytes(UTF_8),
                ascii(change.expected()),
                ascii(change.floor()),
                change.target(),
                ascii(change.operation()),
                by,
                space(),
                capacity);
        for (byte[] part : parts) {
            packed.write(part.length >>> 8);
            packed.write(part.length);
            packed.writeBytes(part);
        }
        return packed.toByteArray();
    }

    /** Writes a chunk of a large value; {@code part} is v for bytes, e for edges, s to seal. */
    Answer build(
            GraphLease lease,
            long sequence,
            ValueId id,
            char part,
            int index,
            byte[] data,
            byte[] adopted,
            byte[] adoptedCounts,
            byte[] handed) {
        Reply reply = call(
                BUILD,
                lease.id(),
                ascii(lease.born()),
                number(sequence),
                id.raw(),
                ascii(String.valueOf(part)),
                number(index),
                data,
                adopted,
                adoptedCounts,
                handed);
        return answer(reply, 2);
    }

    /** A lease that was taken: what it holds, and the server's time. */
    record Taken(String status, byte[] target, long serverMillis, String born) {}

    Taken hold(byte[] lease, long validUntil, long lengthMillis, char kind, String holder, byte[] target) {
        Reply reply = call(
                HOLD,
                lease,
                number(validUntil),
                number(lengthMillis),
                ascii(String.valueOf(kind)),
                ascii(holder),
                target);
        return new Taken(reply.text(0), reply.bytes(1), reply.number(2), reply.text(3));
    }

    /** Renews leases; the answer says of each whether it is alive. */
    String renew(List<byte[]> leases) {
        return call(RENEW, leases).text(2);
    }

    void pause(boolean paused, String by, String why) {
        call(PAUSE, ascii(paused ? "1" : "0"), by.getBytes(UTF_8), why.getBytes(UTF_8));
    }

    /** Gives a lease up; answers what was freed at once. */
    Freed release(byte[] lease) {
        Reply reply = call(RELEASE, lease, by, space(), number(256), capacity);
        return reply.size() < 3 ? new Freed("", EMPTY) : new Freed(reply.text(1), reply.joined(2));
    }

    /** Values that a call has freed, packed, and why. */
    record Freed(String cause, byte[] packed) {}

    /** A root as the server has it after a call, and the values that were freed by it at once, packed. */
    record RootAnswer(String status, String version, byte[] target, String floor, byte[] freed) {}

    /**
     * What is to become of a root.
     *
     * @param expected the version that the caller saw
     * @param target what it is to name; empty to drop it
     * @param operation by which a repeat is known
     */
    record RootChange(String name, String expected, String floor, byte[] target, String operation) {}

    /** @param lease of the writer that hands its hold on the target over, if one does */
    RootAnswer root(RootChange change, byte @Nullable [] lease) {
        Reply reply = call(
                ROOT,
                List.of(
                        change.name().getBytes(UTF_8),
                        ascii(change.expected()),
                        ascii(change.floor()),
                        change.target(),
                        ascii(change.operation()),
                        lease == null ? EMPTY : lease,
                        by,
                        space(),
                        capacity));
        byte[] freed = reply.size() < 5 ? EMPTY : reply.joined(4);
        return new RootAnswer(reply.text(0), reply.text(1), reply.bytes(2), reply.text(3), freed);
    }

    /**
     * What one step of reclaiming did.
     *
     * @param quiet nothing is reclaimed for now: the store was replaced, or a mark is out
     * @param pending elements of the work list that are left
     * @param nextMillis until the next lease lapses, or the quiet time ends; -1 if no lease is out
     * @param heard how many bytes the server was sent by all its clients ever; -1 if it was not asked, or does not say
     */
    record Stepped(
            boolean quiet,
            long freed,
            long edges,
            long pending,
            long nextMillis,
            String reason,
            String cause,
            byte[] packed,
            long heard) {

        /** Whether the next step has something to do now: work that is left, or more leases past their deadline. */
        boolean hasMore() {
            return !quiet && (pending > 0 || nextMillis == 0);
        }
    }

    Stepped step() {
        return step(false);
    }

    /** @param listen whether to ask how much the server was sent */
    Stepped step(boolean listen) {
        Reply reply = call(STEP, by, space(), budget, capacity, number(listen ? 1 : 0));
        return new Stepped(
                !reply.text(0).equals("OK"),
                reply.number(1),
                reply.number(2),
                reply.number(3),
                reply.number(4),
                reply.text(5),
                reply.text(6),
                reply.joined(7),
                reply.number(8));
    }

    /** How many bytes a step sends to the server. */
    long stepBytes() {
        return STEP.sentBytes(keysOf(STEP), List.of(by, space(), budget, capacity, number(0)));
    }

    byte[] key(String part) {
        return keyspace.key(part);
    }

    RedisLink link() {
        return link;
    }

    /** How a script that writes to the ledger is told who does it, where, and how much the ledger keeps. */
    List<byte[]> signature() {
        return List.of(by, space(), capacity);
    }

    private byte[] space() {
        return ascii(keyspace.name());
    }

    private Reply call(Script script, byte[]... arguments) {
        return call(script, Arrays.asList(arguments));
    }

    Reply call(Script script, List<byte[]> arguments) {
        return checked(link.call(script, keysOf(script), arguments));
    }

    private List<byte[]> keysOf(Script script) {
        return keys.computeIfAbsent(
                script, it -> it.keys().stream().map(keyspace::key).toList());
    }

    private Reply checked(Reply reply) {
        if (reply.size() == 1 && reply.text(0).equals("NOGRAPH")) {
            throw new HoldfastException(
                    Category.GONE,
                    "the graph " + keyspace.name() + " is not in the store any more",
                    "it was destroyed, or the store lost its data: open the graph again",
                    null);
        }
        return reply;
    }

    static byte[] number(long number) {
        return ascii(Long.toString(number));
    }

    static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }
}
