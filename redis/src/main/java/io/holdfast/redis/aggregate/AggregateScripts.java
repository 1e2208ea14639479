package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Every script call of this package. A shard has the parts that {@link io.holdfast.redis.hold.Holds} keeps, and these:
 *
 * <pre>
 *   parts    EPOCH=KEY -> PART LENGTH:BYTES, one after the other: what each instance has added to that epoch
 *            =KEY -> marks: the last publish of each instance, up to where each ordered source, the epoch's windows
 *            #DIGEST of (source, id, key) -> the second in which it counted: unordered sources
 *   ends     =KEY -> when the open epoch ends, held or not: its hard window, or its extension if that is later
 *   kept     =KEY -> until when the open epoch was extended
 *   look     =KEY -> when to see whether its marks may go
 *   ids      DIGEST -> when it counted, to forget it in time
 *   meta     also: bytes, of all parts that wait
 * </pre>
 *
 * A publish is decided in {@code publish.lua} alone. It names the number of the publish on whose top it is made, and counts only
 * if that is the last one of this instance that counts. So of two calls of which one is late or repeated at most one counts,
 * whatever their order, and the refused one is told which. It counts by one write, to {@code parts}; everything else is an index
 * that {@code rebuild.lua} can make again.
 */
final class AggregateScripts {

    private static final Script PUBLISH = script(
            "publish.lua",
            "meta things due parts ends look ids",
            "part lease file hard-ms window-s limit entries…",
            "status second entries…");
    private static final Script PUBLISH_LEAVING = script(
            "publish-leaving.lua",
            "meta things due parts ends look ids",
            "part lease file hard-ms window-s limit entries…",
            "status second entries…");
    private static final Script TEND = script(
            "tend.lua",
            "meta things due closing claims parts ends look kept ids deadlines lengths",
            "limit window-s by",
            "status next-ms frozen forgotten bytes more");
    private static final Script FREEZE =
            script("freeze.lua", "things due closing claims ends kept", "by evidence lease thing", "status");
    private static final Script FREEZE_ALL = script(
            "freeze-all.lua",
            "things due closing claims ends kept",
            "by evidence before cursor limit",
            "cursor frozen");
    private static final Script EXTEND =
            script("extend.lua", "things due parts ends kept", "thing ms", "status end-ms");
    private static final Script FLUSHED =
            script("flushed.lua", "meta things closing claims parts ledger", "space by capacity claims…", "statuses…");
    private static final Script PARTS = script("parts.lua", "parts", "keys…", "packed…");
    private static final Script PEEK = script("peek.lua", "things parts", "thing", "epoch packed");
    private static final Script SHOW = script("show.lua", "meta things parts", "thing", "now-ms end-ms marks bytes");
    private static final Script REBUILD =
            script("rebuild.lua", "meta things due closing parts ends look kept ids sizes", "", "status");
    private static final List<Script> ALL =
            List.of(PUBLISH, PUBLISH_LEAVING, TEND, FREEZE, FREEZE_ALL, EXTEND, FLUSHED, PARTS, PEEK, SHOW, REBUILD);

    private final ScriptCaller caller;
    private final HoldSet set;
    private final Map<Script, List<List<byte[]>>> keys = new HashMap<>();

    AggregateScripts(ScriptCaller caller, HoldSet set) {
        this.caller = caller;
        this.set = set;
        for (Script script : ALL) {
            List<List<byte[]>> byShard = new ArrayList<>();
            for (int shard = 0; shard < set.shards(); shard++) {
                var keyspace = set.keyspace(shard);
                byShard.add(script.keys().stream().map(keyspace::key).toList());
            }
            keys.put(script, byShard);
        }
    }

    private static Script script(String file, String keys, String arguments, String reply) {
        return Script.load(AggregateScripts.class, file, keys, arguments, reply);
    }

    /** What a publish says of itself once. */
    record Sender(String part, String lease, long hardMillis, long windowSeconds, long limit) {
        private List<byte[]> arguments() {
            List<byte[]> all = new ArrayList<>();
            // What a lease holds is filed under minus the last 12 digits of its incarnation.
            long file = -Long.parseLong(lease.substring(lease.length() - 12), 16);
            for (String one : List.of(
                    part,
                    ',' + lease,
                    Long.toString(file),
                    Long.toString(hardMillis),
                    Long.toString(windowSeconds),
                    Long.toString(limit))) {
                all.add(bytes(one));
            }
            return all;
        }
    }

    /**
     * The first and the last position of an ordered source that an entry has.
     *
     * @param refused positions up to the last one whose update was refused: they count when they are delivered again
     */
    record Span(String source, long from, long to, List<Long> refused) {

        private String last() {
            StringBuilder text = new StringBuilder().append(to);
            for (int i = 0; i < refused.size(); i++) {
                text.append(i == 0 ? ':' : ',').append(refused.get(i));
            }
            return text.toString();
        }
    }

    /** Up to where an ordered source was counted for a key, but for some positions whose updates were refused. */
    record Seen(long position, List<Long> refused) {

        boolean covers(long at) {
            return at <= position && !refused.contains(at);
        }

        /** {@code POSITION} or {@code POSITION:REFUSED,REFUSED…}. */
        static Seen parse(String text) {
            String[] parts = text.split(":");
            List<Long> refused = new ArrayList<>();
            if (parts.length > 1) {
                for (String one : parts[1].split(",")) {
                    refused.add(Long.parseLong(one));
                }
            }
            return new Seen(Long.parseLong(parts[0]), refused);
        }
    }

    private static final byte[] NOTHING = {};

    /**
     * One key of a publish.
     *
     * @param epoch 0: this instance has no part in the open epoch
     * @param base the number of its last publish that counts
     * @param leaveMillis -1: hold it; otherwise leave it, and let it stay open for so long at least
     * @param part the whole of this instance's part; null if it does not change
     */
    record Entry(
            String key,
            long epoch,
            long base,
            long number,
            long leaveMillis,
            byte @Nullable [] part,
            List<Span> spans,
            List<byte[]> ids) {

        /** The name under which an id is stored beside the parts. */
        private static byte[] named(byte[] id) {
            byte[] name = new byte[id.length + 1];
            name[0] = '#';
            System.arraycopy(id, 0, name, 1, id.length);
            return name;
        }

        private void addTo(List<byte[]> arguments) {
            arguments.add(bytes('=' + key));
            arguments.add(bytes(epochText(epoch)));
            arguments.add(bytes(Long.toString(base)));
            arguments.add(bytes(Long.toString(number)));
            arguments.add(leaveMillis < 0 ? NOTHING : bytes(Long.toString(leaveMillis)));
            arguments.add(part == null ? NOTHING : part);
            arguments.add(bytes(Integer.toString(spans.size())));
            arguments.add(bytes(Integer.toString(ids.size())));
            for (Span span : spans) {
                arguments.add(bytes(span.source()));
                arguments.add(bytes(Long.toString(span.from())));
                arguments.add(bytes(span.last()));
            }
            ids.forEach(id -> arguments.add(named(id)));
        }
    }

    /** What became of an entry. */
    sealed interface Answer {

        /** It counts. */
        record Counted(long epoch) implements Answer {}

        /**
         * It does not: something else counts.
         *
         * @param last the number of this instance's last publish that counts; 0 if none is known
         * @param open the open epoch; 0 if there is none
         * @param part this instance's part in it
         */
        record Otherwise(long last, long countedIn, long open, byte @Nullable [] part) implements Answer {}

        /** It does not: these positions were counted before. */
        record SeenBefore(Map<String, Seen> sources, Set<Integer> ids) implements Answer {}

        /** It does not: too many bytes wait for the sink, or too many refused positions are remembered. */
        record Full(boolean ofRefused) implements Answer {}
    }

    /** @param giving all entries leave for good: it works also when the server is full */
    Call publishing(int shard, Sender sender, List<Entry> entries, boolean giving) {
        List<byte[]> arguments = sender.arguments();
        entries.forEach(entry -> entry.addTo(arguments));
        return call(giving ? PUBLISH_LEAVING : PUBLISH, shard, arguments);
    }

    /** The answers to the entries in order, none if the lease is gone; and the server's second. */
    record Answers(List<Answer> each, long second) {
        static final Answers NONE = new Answers(List.of(), 0);
    }

    static Answers answers(Reply reply) {
        if (!reply.text(0).equals("OK")) {
            return Answers.NONE;
        }
        List<Answer> answers = new ArrayList<>();
        List<Reply> parts = reply.parts();
        for (Reply part : parts.subList(2, parts.size())) {
            answers.add(answer(part.bytes()));
        }
        return new Answers(answers, reply.number(1));
    }

    private static Answer answer(byte[] line) {
        return switch (line[0]) {
            case 'O' -> new Answer.Counted(Long.parseLong(new String(line, 1, 16, ISO_8859_1)));
            case 'S' -> otherwise(line);
            case 'P' -> seen(new String(line, 1, line.length - 1, UTF_8));
            default -> new Answer.Full(line[0] == 'R');
        };
    }

    /** {@code S LAST EPOCH(16) OPEN(16) HAS(1) PART}. */
    private static Answer otherwise(byte[] line) {
        int space = 1;
        while (line[space] != ' ') {
            space++;
        }
        long last = Long.parseLong(new String(line, 1, space - 1, ISO_8859_1));
        long countedIn = Long.parseLong(new String(line, space + 1, 16, ISO_8859_1));
        int open = space + 1 + 17;
        long epoch = Long.parseLong(new String(line, open, 16, ISO_8859_1));
        int has = open + 17;
        byte[] part = line[has] == '1' ? java.util.Arrays.copyOfRange(line, has + 1, line.length) : null;
        return new Answer.Otherwise(last, countedIn, epoch, part);
    }

    private static Answer seen(String text) {
        Map<String, Seen> sources = new HashMap<>();
        Set<Integer> ids = new HashSet<>();
        for (String one : text.substring(1).split("\n")) {
            if (one.charAt(0) == '#') {
                ids.add(Integer.parseInt(one.substring(1)));
            } else {
                int space = one.indexOf(' ');
                sources.put(one.substring(1, space), Seen.parse(one.substring(space + 1)));
            }
        }
        return new Answer.SeenBefore(sources, ids);
    }

    /** What a round of tending found in a shard; {@code nextMillis} is -1 if nothing is open. */
    record Tended(long nextMillis, long frozen, long forgotten, long bytes, boolean more) {
        static Tended of(Reply reply) {
            return new Tended(reply.number(1), reply.number(2), reply.number(3), reply.number(4), reply.number(5) > 0);
        }
    }

    Call tending(int shard, int limit, long windowSeconds, String by) {
        return call(TEND, shard, texts(Integer.toString(limit), Long.toString(windowSeconds), by));
    }

    /** What became of the wish to end an epoch. */
    record Frozen(long epoch, String heldBy) {
        static final Frozen NONE = new Frozen(0, "");
        static final Frozen BUSY = new Frozen(-1, "");
    }

    /**
     * Ends the open epoch of a key.
     *
     * @param lease refused if another lease holds the key; empty: never refused
     */
    Frozen freeze(int shard, String by, String evidence, String lease, String key) {
        String status = caller.call(call(FREEZE, shard, texts(by, evidence, lease, '=' + key)))
                .text(0);
        return switch (status.split(" ", 2)[0]) {
            case "GONE" -> Frozen.NONE;
            case "BUSY" -> Frozen.BUSY;
            case "HELD" -> new Frozen(0, status.substring(5));
            default -> new Frozen(Long.parseLong(status.substring(3)), "");
        };
    }

    /** Where to go on, "0" at the end, and how many epochs ended. */
    record FrozenAll(String cursor, long frozen) {}

    FrozenAll freezeAll(int shard, String by, String evidence, long before, String cursor, int limit) {
        Reply reply = caller.call(
                call(FREEZE_ALL, shard, texts(by, evidence, epochText(before), cursor, Integer.toString(limit))));
        return new FrozenAll(reply.text(0), reply.number(1));
    }

    /** Makes the indexes of a torn shard again, one page; returns whether there is more. */
    boolean rebuild(int shard) {
        return caller.call(call(REBUILD, shard, List.of())).text(0).equals("MORE");
    }

    /** The parts of the open epoch; empty if none is open. */
    byte[] peek(int shard, String key) {
        return caller.call(call(PEEK, shard, texts('=' + key))).part(1).bytes();
    }

    /** For how many milliseconds the epoch may stay open now; -1 if there is none. */
    long extend(int shard, String key, long millis) {
        Reply reply = caller.call(call(EXTEND, shard, texts('=' + key, Long.toString(millis))));
        return reply.text(0).equals("OK") ? reply.number(1) : -1;
    }

    /** A claim whose value is in the sink. */
    record Done(Claim claim, String note) {}

    Call committing(int shard, String by, int ledgerCapacity, List<Done> done) {
        List<byte[]> arguments = texts(set.name(), by, Integer.toString(ledgerCapacity));
        for (Done one : done) {
            arguments.add(bytes(field(one.claim().id(), one.claim().epoch())));
            arguments.add(bytes(Long.toString(one.claim().token())));
            arguments.add(bytes(one.note()));
        }
        return call(FLUSHED, shard, arguments);
    }

    Call fetching(int shard, List<Claim> claims) {
        List<byte[]> arguments = new ArrayList<>();
        claims.forEach(claim -> arguments.add(bytes(field(claim.id(), claim.epoch()))));
        return call(PARTS, shard, arguments);
    }

    /** The windows and marks of a key, for people. */
    record Shown(long nowMillis, long endMillis, String marks, long bytes) {}

    Shown show(int shard, String key) {
        Reply reply = caller.call(call(SHOW, shard, texts('=' + key)));
        return new Shown(reply.number(0), reply.number(1), reply.text(2), reply.number(3));
    }

    byte[] packed(int shard, String key, long epoch) {
        byte @Nullable [] found = caller.call(call(PARTS, shard, texts(field(key, epoch))))
                .part(0)
                .bytesOrNull();
        return found == null ? NOTHING : found;
    }

    Reply one(Call call) {
        return caller.call(call);
    }

    List<Outcome> all(List<Call> calls) {
        return calls.isEmpty() ? List.of() : caller.callAll(calls);
    }

    private Call call(Script script, int shard, List<byte[]> arguments) {
        return new Call(script, Objects.requireNonNull(keys.get(script)).get(shard), arguments);
    }

    static String field(String key, long epoch) {
        return epochText(epoch) + '=' + key;
    }

    private static String epochText(long epoch) {
        String digits = Long.toString(epoch);
        return "0".repeat(Math.max(0, 16 - digits.length())) + digits;
    }

    private static List<byte[]> texts(String... texts) {
        List<byte[]> all = new ArrayList<>();
        for (String text : texts) {
            all.add(bytes(text));
        }
        return all;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }
}
