package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.GraphScripts.ascii;
import static io.holdfast.redis.graph.GraphScripts.number;

import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The script calls that look at a graph as a whole, mend it and end it; those of its daily work are in {@link GraphScripts}. */
final class InspectionScripts {

    static final Script STATISTICS = script(
            "statistics.lua",
            "meta values counts edges roots leases lease-info held doomed ledger incoming",
            "",
            "status values large edges roots leases doomed records miscounts memory");
    static final Script SIZES = script("sizes.lua", "meta values counts incoming", "id…", "status sizes");
    static final Script SCAN = script(
            "scan.lua", "meta values counts incoming", "shelf cursor count", "status cursor bytes packed chunks");
    static final Script VERIFY = script(
            "verify.lua",
            "meta changed values incoming",
            "operation token lease cursor seen…",
            "status run cursor noted");
    static final Script MARK =
            script("mark.lua", "meta values incoming", "operation token lease", "status run now incarnation torn");
    static final Script REPAIR = script(
            "repair.lua",
            "meta values counts edges leases lease-info held doomed ledger changed incoming",
            "token fix id field expected fixed lease evidence by space capacity",
            "status");
    static final Script DESTROY = script(
            "destroy.lua",
            "meta values incoming counts edges roots leases lease-info held doomed changed ledger",
            "incarnation by space capacity",
            "status values roots");

    private final GraphScripts graph;

    InspectionScripts(GraphScripts graph) {
        this.graph = graph;
    }

    private static Script script(String file, String keys, String arguments, String reply) {
        return Script.load(InspectionScripts.class, file, keys, arguments, reply);
    }

    GraphStatistics statistics() {
        Reply reply = graph.call(STATISTICS, List.of());
        return new GraphStatistics(
                reply.number(1),
                reply.number(2),
                reply.number(3),
                reply.number(4),
                reply.number(5),
                reply.number(6),
                reply.number(7),
                reply.number(8),
                reply.number(9));
    }

    /** The bytes of each value; 0 for one that is not there. */
    long[] sizes(List<ValueId> ids) {
        List<byte[]> arguments = ids.stream().map(ValueId::raw).toList();
        return graph.call(SIZES, arguments).part(1).parts().stream()
                .mapToLong(Reply::number)
                .toArray();
    }

    /**
     * A page of the fields of values on a shelf.
     *
     * @param bytes how many bytes of values the server passed for it
     * @param packed ids
     * @param chunks fields that are not ids: chunks of large values
     */
    record Fields(byte[] cursor, long bytes, byte[] packed, List<byte @Nullable []> chunks) {}

    Fields scan(String shelf, byte[] cursor, int count) {
        Reply reply = graph.call(SCAN, List.of(ascii(shelf), cursor, number(count)));
        return new Fields(
                reply.bytes(1), reply.number(2), reply.bytes(3), reply.part(4).allBytes());
    }

    /** What a call of a running verify answers. */
    record Watched(String status, String run, byte[] cursor, List<byte @Nullable []> noted) {}

    Watched verify(String operation, String token, long leaseMillis, byte[] cursor, List<byte @Nullable []> seen) {
        List<byte[]> arguments = new ArrayList<>(4 + seen.size());
        arguments.add(ascii(operation));
        arguments.add(ascii(token));
        arguments.add(number(leaseMillis));
        arguments.add(cursor);
        for (byte[] id : seen) {
            if (id != null) {
                arguments.add(id);
            }
        }
        Reply reply = graph.call(VERIFY, arguments);
        return new Watched(
                reply.text(0), reply.text(1), reply.bytes(2), reply.part(3).allBytes());
    }

    /**
     * What a call of a mark answers: which server it was, and which life of the graph.
     *
     * @param torn how often values had another name for a while (names.lua)
     */
    record Marked(String status, String run, long serverMillis, String incarnation, String torn) {}

    Marked mark(String operation, String token, long leaseMillis) {
        Reply reply = graph.call(MARK, List.of(ascii(operation), ascii(token), number(leaseMillis)));
        return new Marked(reply.text(0), reply.text(1), reply.number(2), reply.text(3), reply.text(4));
    }

    /** Mends one thing; the words of {@code fix} are in repair.lua. */
    String repair(String token, Fix fix, String evidence) {
        List<byte[]> arguments = new ArrayList<>(List.of(
                ascii(token),
                ascii(fix.word()),
                fix.id(),
                fix.field(),
                fix.expected(),
                fix.fixed(),
                fix.lease(),
                ascii(evidence)));
        arguments.addAll(graph.signature());
        return graph.call(REPAIR, arguments).text(0);
    }

    /** Ends the given life of the graph; GONE if it has ended already. */
    Destroyed destroy(String incarnation) {
        List<byte[]> arguments = new ArrayList<>(List.of(ascii(incarnation)));
        arguments.addAll(graph.signature());
        Reply reply = graph.call(DESTROY, arguments);
        return new Destroyed(reply.number(1), reply.number(2));
    }

    /** What went with a graph. */
    record Destroyed(long values, long roots) {}

    byte[] key(String part) {
        return graph.key(part);
    }

    RedisLink link() {
        return graph.link();
    }
}
