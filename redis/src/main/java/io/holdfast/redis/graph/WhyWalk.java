package io.holdfast.redis.graph;

import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.ThingId.Kind;
import io.holdfast.Why;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.link.Reply;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * Finds out why a value or a root is there, or gone. Values do not know who holds them, only how many do; so this walks
 * down from everything that roots and leases hold, level by level, until it meets the value: the way it came is a shortest
 * chain. In the worst case it reads the edges of the whole graph, in bounded calls, with about 35 bytes of memory a value.
 */
final class WhyWalk {

    private static final int PAGE = 128;
    private static final int HELD_PAGE = 512;

    private final ValueGraph graph;
    private final GraphProgress progress;
    private final IdTable ids;
    /** Number of the parent + 1; 0: held by a root or a lease. */
    private final IdTable.Ints parents = new IdTable.Ints();
    /** Place in {@link #leases} + 1; 0: held by a root. */
    private final IdTable.Ints byLease = new IdTable.Ints();

    private final Map<Integer, String> byRoot = new HashMap<>();
    private final List<byte[]> leases = new ArrayList<>();
    private final long expected;

    WhyWalk(ValueGraph graph, GraphProgress progress) {
        this.graph = graph;
        this.progress = progress;
        this.ids = new IdTable(graph.width(), 0);
        this.expected = graph.inspect().statistics().values();
    }

    Why why(ValueId id) {
        ThingId thing = new ThingId(Kind.VALUE, graph.name(), id.toString());
        String state = state(id);
        if (state.isEmpty()) {
            return gone(graph.ledger(), thing);
        }
        if (state.equals("0") || state.startsWith("0|") || state.startsWith("d")) {
            return new Why.Doomed(thing, "nothing holds it any longer; the cascade is about to free it");
        }
        int found = walkTo(id);
        if (found != IdTable.NONE) {
            String holds = state.startsWith("b") ? "being written" : "held " + state.split("\\|", 2)[0] + " times";
            return new Why.Alive(thing, holds.equals("held 1 times") ? "held once" : holds, chain(found));
        }
        if (state(id).isEmpty()) {
            return gone(graph.ledger(), thing);
        }
        return new Why.Unknown(
                thing,
                "it is there, but no way leads to it: its holders changed just now, or it is a leak; run verify");
    }

    static Why ofRoot(ValueGraph graph, String name) {
        ThingId thing = new ThingId(Kind.ROOT, graph.name(), name);
        Root.State root = graph.root(name).read();
        if (root.target().isEmpty()) {
            return gone(graph.ledger(), thing);
        }
        Instant since = Instant.ofEpochMilli(Long.parseLong(root.version()) / 1_000);
        String detail = "names value " + root.target().get() + " since " + since + "; it stays until it is dropped";
        return new Why.Alive(thing, detail, List.of());
    }

    static Why ofLeases(ValueGraph graph, String holder) {
        ThingId thing = new ThingId(Kind.LEASE, graph.name(), holder);
        List<Why.Holder> leases = new ArrayList<>();
        byte[] cursor = {'0'};
        do {
            Reply page = graph.link()
                    .command(
                            Command.HSCAN,
                            graph.scripts().key("lease-info"),
                            cursor,
                            GraphScripts.ascii("COUNT"),
                            GraphScripts.ascii("512"));
            List<byte @Nullable []> flat = page.part(1).allBytes();
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                byte[] lease = flat.get(i);
                byte[] info = flat.get(i + 1);
                if (lease != null && info != null) {
                    String[] fields = new String(info, StandardCharsets.ISO_8859_1).split(";", 7);
                    if (fields.length == 7 && fields[5].equals(holder) && fields[1].equals("a")) {
                        leases.add(lease(graph, lease));
                    }
                }
            }
            cursor = page.bytes(0);
        } while (cursor.length != 1 || cursor[0] != '0');
        return leases.isEmpty()
                ? gone(graph.ledger(), thing)
                : new Why.Alive(thing, leases.size() == 1 ? "one lease" : leases.size() + " leases", leases);
    }

    /** What the ledger knows of a thing that is not there. */
    static Why gone(RedisLedger ledger, ThingId thing) {
        Optional<Reclaimed> record = ledger.find(thing);
        if (record.isPresent()) {
            return new Why.Gone(thing, record.get());
        }
        List<Reclaimed> ends = ledger.since(Instant.EPOCH, Integer.MAX_VALUE).stream()
                .filter(it -> it.kind() == Kind.GRAPH && it.reason() == ReclaimReason.DESTROYED)
                .toList();
        String hint = ends.isEmpty()
                ? ""
                : "; the graph was destroyed at " + ends.getLast().at() + ", and it may have gone with it";
        return new Why.Unknown(
                thing,
                "it is not there and the ledger has no record of it: it never was, or the record is too old" + hint);
    }

    /** The entry in counts, 1 for a value without one; empty if there is no such value. */
    private String state(ValueId id) {
        byte[] count = graph.shelves().get("counts", id.raw());
        if (count != null) {
            return new String(count, StandardCharsets.ISO_8859_1);
        }
        return graph.reader().isSmallAndThere(id) ? "1" : "";
    }

    private int walkTo(ValueId target) {
        graph.roots().forEach((name, id) -> byRoot.putIfAbsent(ids.add(id), name));
        int found = ids.find(target);
        return found == IdTable.NONE && !readHeld(target) ? walkDown(target) : ids.find(target);
    }

    /** What leases hold; whether the value that is looked for is among it. */
    private boolean readHeld(ValueId target) {
        byte[] from = {'-'};
        while (true) {
            List<byte @Nullable []> page = command(
                            Command.ZRANGEBYLEX,
                            "held",
                            from,
                            GraphScripts.ascii("+"),
                            GraphScripts.ascii("LIMIT"),
                            GraphScripts.ascii("0"),
                            GraphScripts.number(HELD_PAGE))
                    .allBytes();
            byte[] last = null;
            for (byte[] member : page) {
                if (member != null) {
                    held(member);
                    last = member;
                }
            }
            if (ids.find(target) != IdTable.NONE) {
                return true;
            }
            if (last == null || page.size() < HELD_PAGE) {
                return false;
            }
            from = ByteBuffer.allocate(last.length + 1)
                    .put((byte) '(')
                    .put(last)
                    .array();
        }
    }

    private void held(byte[] member) {
        int before = ids.size();
        int id = ids.add(member, Long.BYTES);
        if (id == before) {
            byte[] lease = java.util.Arrays.copyOf(member, Long.BYTES);
            if (leases.isEmpty() || !java.util.Arrays.equals(leases.getLast(), lease)) {
                leases.add(lease);
            }
            byLease.set(id, leases.size());
        }
    }

    private int walkDown(ValueId target) {
        int from = 0;
        while (from < ids.size()) {
            int to = Math.min(ids.size(), from + PAGE);
            List<ValueId> some = new ArrayList<>(PAGE);
            for (int i = from; i < to; i++) {
                some.add(ids.id(i));
            }
            int parent = from;
            for (List<ValueId> children : graph.reader().childrenOfAll(some).values()) {
                for (ValueId child : children) {
                    int before = ids.size();
                    int id = ids.add(child);
                    if (id == before) {
                        parents.set(id, parent + 1);
                        if (child.equals(target)) {
                            return id;
                        }
                    }
                }
                parent++;
            }
            from = to;
            progress.at("walking", to, Math.max(to, Math.max(expected, ids.size())));
        }
        return IdTable.NONE;
    }

    private List<Why.Holder> chain(int found) {
        List<Why.Holder> chain = new ArrayList<>();
        int at = found;
        while (parents.get(at) != 0) {
            at = parents.get(at) - 1;
            chain.add(new Why.Holder("value:" + graph.name() + "/" + ids.id(at), Optional.empty()));
        }
        String root = byRoot.get(at);
        chain.add(
                root != null
                        ? new Why.Holder("root:" + graph.name() + "/" + root, Optional.empty())
                        : lease(graph, leases.get(byLease.get(at) - 1)));
        return chain;
    }

    private static Why.Holder lease(ValueGraph graph, byte[] lease) {
        byte[] info = command(graph, Command.HGET, "lease-info", lease).bytesOrNull();
        Reply deadline = command(graph, Command.ZSCORE, "leases", lease);
        String[] fields = info == null ? new String[0] : new String(info, StandardCharsets.ISO_8859_1).split(";", 7);
        String what = fields.length < 7
                ? "a lease that has ended and is being released"
                : switch (fields[3]) {
                    case "w" -> "writer " + fields[5];
                    case "s" -> "snapshot of " + fields[5];
                    default -> "hold of " + fields[5];
                };
        return new Why.Holder(
                what,
                deadline.isNull()
                        ? Optional.empty()
                        : Optional.of(Instant.ofEpochMilli((long) Double.parseDouble(deadline.text()))));
    }

    private Reply command(Command command, String part, byte[]... arguments) {
        return command(graph, command, part, arguments);
    }

    private static Reply command(ValueGraph graph, Command command, String part, byte[]... arguments) {
        return graph.link().command(command, graph.scripts().key(part), arguments);
    }
}
