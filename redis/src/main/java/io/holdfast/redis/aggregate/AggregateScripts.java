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
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Every script call of this package. A shard has the parts that {@link io.holdfast.redis.hold.Holds} keeps, and these:
 *
 * <pre>
 *   parts    EPOCH=KEY -> PART LENGTH:BYTES, one after the other: what each instance has added to that epoch
 *   marks    =KEY -> what counts: the last publish of each instance, and up to where each ordered source
 *   ids      digest of (source, id, key) -> when it counted: unordered sources
 *   ends     =KEY -> when the hard window of an epoch that is held ends; later, when to see whether its marks may go
 *   meta     also: bytes, of all parts that wait
 * </pre>
 *
 * A publish is decided in {@code publish.lua} alone. It names the number of the publish on whose top it is made, and counts only
 * if that is the last one of this instance that counts. So of two calls of which one is late or repeated at most one counts,
 * whatever their order, and the refused one is told which.
 */
final class AggregateScripts {

    private static final Script PUBLISH = script(
            "publish.lua",
            "meta things due parts marks ends ids",
            "part lease file hard-ms window-s limit entries…",
            "status entries…");
    private static final Script TEND = script(
            "tend.lua",
            "meta things due closing claims ends marks ids",
            "limit window-s by",
            "status next-ms frozen forgotten bytes more");
    private static final Script FREEZE =
            script("freeze.lua", "things due closing claims", "by evidence things…", "statuses…");
    private static final Script FREEZE_ALL =
            script("freeze-all.lua", "things due closing claims", "by evidence before offset limit", "looked frozen");
    private static final Script EXTEND = script("extend.lua", "things due ends", "thing ms", "status end-ms");
    private static final Script FLUSHED = script(
            "flushed.lua",
            "meta things closing claims parts ledger ends",
            "space by capacity window-s claims…",
            "statuses…");
    private static final Script BURY =
            script("bury.lua", "things closing claims letters", "key token reason", "status");
    private static final Script PARTS = script("parts.lua", "parts", "keys…", "packed…");
    private static final Script SHOW = script("show.lua", "meta ends marks", "thing", "now-ms end-ms marks bytes");

    private final ScriptCaller caller;
    private final HoldSet set;
    private final Map<Script, List<List<byte[]>>> keys = new HashMap<>();

    AggregateScripts(ScriptCaller caller, HoldSet set) {
        this.caller = caller;
        this.set = set;
        for (Script script : List.of(PUBLISH, TEND, FREEZE, FREEZE_ALL, EXTEND, FLUSHED, BURY, PARTS, SHOW)) {
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

    /** The first and the last position of an ordered source that an entry has. */
    record Span(String source, long from, long to) {}

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
                arguments.add(bytes(Long.toString(span.to())));
            }
            arguments.addAll(ids);
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
        record Otherwise(long last, long open, byte @Nullable [] part) implements Answer {}

        /** It does not: these positions were counted before. */
        record Seen(Map<String, Long> sources, List<Integer> ids) implements Answer {}

        /** It does not: too much waits for the sink. */
        record Full() implements Answer {}
    }

    Call publishing(int shard, Sender sender, List<Entry> entries) {
        List<byte[]> arguments = sender.arguments();
        entries.forEach(entry -> entry.addTo(arguments));
        return call(PUBLISH, shard, arguments);
    }

    /** The answers to the entries in order; empty if the lease is gone. */
    static List<Answer> answers(Reply reply) {
        if (!reply.text(0).equals("OK")) {
            return List.of();
        }
        List<Answer> answers = new ArrayList<>();
        List<Reply> parts = reply.parts();
        for (Reply part : parts.subList(1, parts.size())) {
            answers.add(answer(part.bytes()));
        }
        return answers;
    }

    private static Answer answer(byte[] line) {
        return switch (line[0]) {
            case 'O' -> new Answer.Counted(Long.parseLong(new String(line, 1, 16, ISO_8859_1)));
            case 'S' -> otherwise(line);
            case 'P' -> seen(new String(line, 1, line.length - 1, UTF_8));
            default -> new Answer.Full();
        };
    }

    /** {@code S LAST EPOCH(16) OPEN(16) HAS(1) PART}. */
    private static Answer otherwise(byte[] line) {
        int space = 1;
        while (line[space] != ' ') {
            space++;
        }
        long last = Long.parseLong(new String(line, 1, space - 1, ISO_8859_1));
        int open = space + 1 + 17;
        long epoch = Long.parseLong(new String(line, open, 16, ISO_8859_1));
        int has = open + 17;
        byte[] part = line[has] == '1' ? java.util.Arrays.copyOfRange(line, has + 1, line.length) : null;
        return new Answer.Otherwise(last, epoch, part);
    }

    private static Answer seen(String text) {
        Map<String, Long> sources = new HashMap<>();
        List<Integer> ids = new ArrayList<>();
        for (String one : text.substring(1).split("\n")) {
            if (one.charAt(0) == '#') {
                ids.add(Integer.parseInt(one.substring(1)));
            } else {
                int space = one.indexOf(' ');
                sources.put(one.substring(1, space), Long.parseLong(one.substring(space + 1)));
            }
        }
        return new Answer.Seen(sources, ids);
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

    /** The epoch that ended; 0: there was none open; -1: too many earlier ones are unfinished. */
    long freeze(int shard, String by, String evidence, String key) {
        String status =
                caller.call(call(FREEZE, shard, texts(by, evidence, '=' + key))).text(0);
        return switch (status) {
            case "GONE" -> 0;
            case "BUSY" -> -1;
            default -> Long.parseLong(status.substring(3));
        };
    }

    /** How many were looked at and how many epochs ended. */
    record FrozenAll(long looked, long frozen) {}

    FrozenAll freezeAll(int shard, String by, String evidence, long before, long offset, int limit) {
        Reply reply = caller.call(call(
                FREEZE_ALL,
                shard,
                texts(by, evidence, epochText(before), Long.toString(offset), Integer.toString(limit))));
        return new FrozenAll(reply.number(0), reply.number(1));
    }

    /** For how many milliseconds the epoch may stay open now; -1 if there is none. */
    long extend(int shard, String key, long millis) {
        Reply reply = caller.call(call(EXTEND, shard, texts('=' + key, Long.toString(millis))));
        return reply.text(0).equals("OK") ? reply.number(1) : -1;
    }

    /** A claim whose value is in the sink. */
    record Done(Claim claim, String note) {}

    Call committing(int shard, String by, int ledgerCapacity, long windowSeconds, List<Done> done) {
        List<byte[]> arguments = texts(set.name(), by, Integer.toString(ledgerCapacity), Long.toString(windowSeconds));
        for (Done one : done) {
            arguments.add(bytes(field(one.claim().id(), one.claim().epoch())));
            arguments.add(bytes(Long.toString(one.claim().token())));
            arguments.add(bytes(one.note()));
        }
        return call(FLUSHED, shard, arguments);
    }

    String bury(int shard, Claim claim, String reason) {
        return caller.call(call(
                        BURY, shard, texts(field(claim.id(), claim.epoch()), Long.toString(claim.token()), reason)))
                .text(0);
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
