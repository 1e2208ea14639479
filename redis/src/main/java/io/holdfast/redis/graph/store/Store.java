package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.commands.ProtocolCommand;

/**
 * Every call of a graph's scripts. A call is atomic, names all keys that it touches, and may be repeated: the header of
 * each script says what a repeat does. Nothing is kept here.
 */
public final class Store {

    /** The layout of the data; {@code docs/graph.md} draws it. */
    public static final String LAYOUT = "4";

    static final Script OPEN =
            script("open.lua", "meta leases lengths", "layout addressing lease-ms", "status now-ms layout addressing");
    static final Script HOLD = script(
            "hold.lua",
            "meta leases lengths lease small noted c",
            "name valid-until length-ms holder target",
            "status now-ms run");
    static final Script RENEW = script("renew.lua", "meta leases lengths", "lease…", "status now-ms run alive");
    static final Script LEAVE = script("leave.lua", "meta leases lengths lease doomed noted", "name late", "status");
    static final Script RELEASE = script("release.lua", "meta lease doomed noted", "name id…", "status released");
    static final Script PUT = script(
            "put.lua",
            "meta leases lengths lease roots segments small ids doomed noted ledger v e c h c…",
            "seq segment count counts packed content tops handed adopted edges version name expected target by space"
                    + " capacity rest…",
            "status");
    static final Script ROOT = script(
            "root.lua",
            "meta roots lease small doomed noted c…",
            "valid-until version by name expected target handed…",
            "status which version");
    static final Script STEP = script(
            "step.lua",
            "meta doomed segments small ids ledger leases lengths noted v-e-c-h…",
            "budget order ahead by space capacity",
            "status freed left wait-ms late next sparse");
    static final Script PACK =
            script("pack.lua", "meta segments small noted v e c h", "values-max bytes-max", "status");

    static final Script MEND =
            script("mend.lua", "meta doomed roots segments small ids noted key…", "what by name data…", "status");

    /** The parts of a segment that is stored whole. */
    static final List<String> WHOLE = List.of("v", "e", "c", "h");

    private static final byte[] NOTHING = {};
    private static final int SCAN_PAGE = 256;

    private final RedisLink link;
    private final Keyspace keyspace;
    private final HolderId self;
    private final int ledgerRecords;

    /** @param ledgerRecords how many records the ledger keeps, about */
    public Store(RedisLink link, Keyspace keyspace, HolderId self, int ledgerRecords) {
        this.link = link;
        this.keyspace = keyspace;
        this.self = self;
        this.ledgerRecords = ledgerRecords;
    }

    private static Script script(String file, String keys, String arguments, String reply) {
        return Script.load(Store.class, file, keys, arguments, reply);
    }

    /** What a graph is. */
    public record Opened(String layout, String addressing, long serverMillis) {}

    public Opened open(String addressing, long leaseMillis) {
        Reply reply = call(OPEN, keys("meta", "leases", "lengths"), LAYOUT, addressing, Long.toString(leaseMillis));
        return new Opened(reply.text(2), reply.text(3), reply.number(1));
    }

    /** The answer to a call about leases. */
    public record Leased(String status, long serverMillis, String run) {}

    /** @param target what the lease holds from the start; null: nothing */
    public Leased hold(String lease, long validUntil, long lengthMillis, String holder, @Nullable Place target) {
        List<byte[]> keys = keys("meta", "leases", "lengths", "lease:" + lease, "small", "noted");
        keys.add(key(target == null ? "meta" : "c:" + target.segment()));
        Reply reply = call(
                HOLD,
                keys,
                lease,
                Long.toString(validUntil),
                Long.toString(lengthMillis),
                holder,
                target == null ? "" : target.toString());
        return new Leased(reply.text(0), reply.number(1), reply.text(2));
    }

    /** Which of the leases were renewed; a digit for each. */
    public record Renewed(long serverMillis, String run, String alive) {}

    public Renewed renew(List<String> leases) {
        Reply reply = call(RENEW, keys("meta", "leases", "lengths"), leases.toArray(String[]::new));
        return new Renewed(reply.number(1), reply.text(2), reply.text(3));
    }

    /** Ends a lease, or gives up a page of what it held: OK, MORE, RENEWED or QUIET. */
    public String leave(String lease, boolean late) {
        return call(
                        LEAVE,
                        keys("meta", "leases", "lengths", "lease:" + lease, "doomed", "noted"),
                        lease,
                        late ? "1" : "0")
                .text(0);
    }

    /** Gives up values that the lease holds; answers how many it held. */
    public long release(String lease, List<Place> places) {
        List<String> arguments = new ArrayList<>(List.of(lease));
        places.forEach(place -> arguments.add(place.toString()));
        return call(RELEASE, keys("meta", "lease:" + lease, "doomed", "noted"), arguments.toArray(String[]::new))
                .number(1);
    }

    /** Puts a batch; the answer is the first word of put.lua's status, and what follows it. */
    public List<String> put(String lease, long sequence, Batch batch) {
        return put(lease, sequence, batch, new RootChange("", "", null, false), "");
    }

    /** Puts a batch and lets a root name one of its tops, if the root has the version expected. */
    public List<String> put(String lease, long sequence, Batch batch, RootChange change, String version) {
        SortedSet<Place> tops = batch.tops();
        List<byte[]> keys = keys(
                "meta",
                "leases",
                "lengths",
                "lease:" + lease,
                "roots",
                "segments",
                "small",
                "ids",
                "doomed",
                "noted",
                "ledger");
        WHOLE.forEach(part -> keys.add(key(part + ':' + batch.segment())));
        batch.adoptedSegments().forEach(segment -> keys.add(key("c:" + segment)));
        List<byte[]> arguments = new ArrayList<>();
        arguments.add(bytes(Long.toString(sequence)));
        arguments.addAll(batch.head(tops));
        arguments.add(bytes(version));
        arguments.add(bytes(change.name()));
        arguments.add(bytes(change.expected()));
        arguments.add(change.target() == null ? NOTHING : bytes(change.target().toString()));
        arguments.add(bytes(self.toString()));
        arguments.add(bytes(keyspace.name()));
        arguments.add(bytes(Integer.toString(ledgerRecords)));
        arguments.addAll(batch.lists(tops));
        return List.of(checked(link.call(PUT, keys, arguments)).text(0).split(" "));
    }

    /** What became of a change of roots. */
    public record RootAnswer(String status, int which, String version) {}

    /**
     * @param version of the roots from now on, drawn anew for each change
     * @param lease that hands holds over; empty: none does
     */
    public RootAnswer change(long validUntil, String version, String lease, List<RootChange> changes) {
        List<byte[]> keys =
                keys("meta", "roots", lease.isEmpty() ? "meta" : "lease:" + lease, "small", "doomed", "noted");
        List<byte[]> arguments =
                new ArrayList<>(List.of(bytes(Long.toString(validUntil)), bytes(version), bytes(self.toString())));
        for (RootChange change : changes) {
            Place target = change.target();
            arguments.add(bytes(change.name()));
            arguments.add(bytes(change.expected()));
            arguments.add(target == null ? NOTHING : bytes(target.toString()));
            arguments.add(bytes(change.handed() && !lease.isEmpty() ? "1" : "0"));
            if (target != null) {
                keys.add(key("c:" + target.segment()));
            }
        }
        Reply reply = checked(link.call(ROOT, keys, arguments));
        return new RootAnswer(reply.text(0), (int) reply.number(1), reply.text(2));
    }

    /**
     * What a step did.
     *
     * @param left items of work
     * @param waitMillis until a lease is past its deadline, quiet time ends, or another client drains no more; -1: no
     *     lease
     * @param late leases past their deadline
     * @param next segments that the next step must declare
     * @param sparse segments with few values left
     */
    public record Stepped(
            String status,
            long freed,
            long left,
            long waitMillis,
            List<String> late,
            List<String> next,
            List<String> sparse) {}

    /** @param oldestFirst where releases meet, for a list of work that is long */
    public Stepped step(int budget, boolean oldestFirst, int ahead, List<String> declared) {
        List<byte[]> keys = keys("meta", "doomed", "segments", "small", "ids", "ledger", "leases", "lengths", "noted");
        for (String segment : declared) {
            WHOLE.forEach(part -> keys.add(key(part + ':' + segment)));
        }
        Reply reply = call(
                STEP,
                keys,
                Integer.toString(budget),
                oldestFirst ? "ZRANGE" : "ZREVRANGE",
                Integer.toString(ahead),
                self.toString(),
                keyspace.name(),
                Integer.toString(ledgerRecords));
        return new Stepped(
                reply.text(0),
                reply.number(1),
                reply.number(2),
                reply.number(3),
                texts(reply, 4),
                texts(reply, 5),
                texts(reply, 6));
    }

    /** Packs a segment, if it has at most so many values and bytes. */
    public boolean pack(String segment, int valuesMax, int bytesMax) {
        List<byte[]> keys = keys("meta", "segments", "small", "noted");
        WHOLE.forEach(part -> keys.add(key(part + ':' + segment)));
        return call(PACK, keys, Integer.toString(valuesMax), Integer.toString(bytesMax))
                .text(0)
                .equals("OK");
    }

    /**
     * Those of the nodes that are there. A segment may be packed at any moment, so both of its forms are asked for; a
     * node that has ended may be shown until it is erased.
     */
    public Map<Place, StoredNode> nodes(List<Place> places) {
        List<byte[]> edges = new ArrayList<>();
        List<byte[]> values = new ArrayList<>();
        List<byte[][]> fields = new ArrayList<>();
        List<byte[][]> positions = new ArrayList<>();
        for (Place place : places) {
            edges.add(key("e:" + place.segment()));
            fields.add(new byte[][] {bytes(Integer.toString(place.value()))});
            values.add(key("v:" + place.segment()));
            positions.add(new byte[][] {bytes(Integer.toString(place.value() - Place.FIRST))});
        }
        // Children first: a value whose bytes are still there has not lost them.
        List<Reply> children = link.commands(Command.HGET, edges, fields);
        List<Reply> bytes = link.commands(Command.LINDEX, values, positions);
        Map<Place, StoredNode> found = new HashMap<>();
        List<Place> packed = new ArrayList<>();
        for (int i = 0; i < places.size(); i++) {
            Place place = places.get(i);
            byte[] node = bytes.get(i).bytesOrNull();
            if (node == null) {
                packed.add(place);
            } else if (node.length > 0) {
                String runs = children.get(i).isNull() ? "" : children.get(i).text();
                found.put(place, new StoredNode(node, SegmentData.places(place.segment(), runs)));
            }
        }
        findPacked(packed, found);
        return found;
    }

    private void findPacked(List<Place> places, Map<Place, StoredNode> found) {
        if (places.isEmpty()) {
            return;
        }
        String[] segments = places.stream().map(Place::segment).distinct().toArray(String[]::new);
        List<Reply> replies = command(Command.HMGET, "small", segments).parts();
        Map<String, SegmentData> read = new HashMap<>();
        for (int i = 0; i < segments.length; i++) {
            if (!replies.get(i).isNull()) {
                read.put(
                        segments[i],
                        SegmentData.packed(segments[i], replies.get(i).bytes()));
            }
        }
        for (Place place : places) {
            SegmentData segment = read.get(place.segment());
            SegmentData.Value value = segment == null ? null : segment.values().get(place.value());
            if (value != null) {
                found.put(place, new StoredNode(value.bytes(), value.children()));
            }
        }
    }

    /** One write of a repair: OK, SOUND or BUSY. */
    String mend(String what, String name, List<String> parts, List<byte[]> data) {
        List<byte[]> keys = keys("meta", "doomed", "roots", "segments", "small", "ids", "noted");
        parts.forEach(part -> keys.add(key(part)));
        List<byte[]> arguments = new ArrayList<>(List.of(bytes(what), bytes(self.toString()), bytes(name)));
        arguments.addAll(data);
        return link.call(MEND, keys, arguments).text(0);
    }

    /** A plain command about one part. */
    public Reply command(ProtocolCommand command, String part, String... arguments) {
        return link.command(
                command, key(part), Arrays.stream(arguments).map(Store::bytes).toArray(byte[][]::new));
    }

    /** Shows all fields of a hash, in pages; a field that comes or goes meanwhile may be shown or not. */
    public void scan(String part, BiConsumer<String, Reply> shown) {
        String cursor = "0";
        do {
            Reply page = command(Command.HSCAN, part, cursor, "COUNT", Integer.toString(SCAN_PAGE));
            cursor = page.text(0);
            pairs(page).forEach(shown);
        } while (!cursor.equals("0"));
    }

    /** The fields of one page of a hash. */
    static Map<String, Reply> pairs(Reply page) {
        Map<String, Reply> pairs = new LinkedHashMap<>();
        List<Reply> flat = page.part(1).parts();
        for (int i = 0; i + 1 < flat.size(); i += 2) {
            pairs.put(flat.get(i).text(), flat.get(i + 1));
        }
        return pairs;
    }

    /** The same plain command about several parts, in one round trip. */
    public List<Reply> commands(ProtocolCommand command, List<String> parts, String... arguments) {
        byte[][] each = Arrays.stream(arguments).map(Store::bytes).toArray(byte[][]::new);
        return link.commands(
                command,
                parts.stream().map(this::key).toList(),
                parts.stream().map(part -> each).toList());
    }

    private byte[] key(String part) {
        return keyspace.key(part);
    }

    private List<byte[]> keys(String... parts) {
        List<byte[]> keys = new ArrayList<>();
        for (String part : parts) {
            keys.add(key(part));
        }
        return keys;
    }

    private Reply call(Script script, List<byte[]> keys, String... arguments) {
        return checked(link.call(
                script, keys, Arrays.stream(arguments).map(Store::bytes).toList()));
    }

    private Reply checked(Reply reply) {
        if (reply.text(0).equals("NOGRAPH")) {
            throw new HoldfastException(
                    Category.GONE,
                    "the graph " + keyspace.name() + " is not in the store any more",
                    "it was destroyed, or the store lost its data: open the graph again",
                    null);
        }
        return reply;
    }

    private static List<String> texts(Reply reply, int part) {
        return reply.part(part).parts().stream().map(Reply::text).toList();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }
}
