package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.ReclaimReason;
import io.holdfast.ThingId;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Every script call of this package. One shard is one slot of a cluster; its parts:
 *
 * <pre>
 *   meta       layout shards mode grace   run seen quiet remember lease paused ({@code quiet.lua})   token closed
 *   things     =ID -> EPOCH UNFINISHED ,LEASE,LEASE…  (held)  or  EPOCH UNFINISHED -why it is due
 *              ,LEASE -> SEQUENCE of its last call (no field: the lease is dead)     E -> highest epoch
 *              T, U -> whether a script was torn ({@code tally.lua})
 *   due        =ID -> negative: filed under the first lease that holds it;  positive: when it is due
 *   deadlines  ,LEASE -> when it lapses         dead  ,LEASE -> marked dead, holds still to be released
 *   lengths    ,LEASE -> how long it runs from a renewal
 *   closing    EPOCH=ID -> TOKEN FAILURES LAPSES CLAIMER EVIDENCE
 *   claims     EPOCH=ID -> when the claim runs out or the next attempt is due
 *   letters    EPOCH=ID -> when it became a dead letter
 *   data       EPOCH=ID -> data fields          ledger  what is gone
 * </pre>
 *
 * A thing is in {@code due} exactly once: under a lease if somebody holds it, under a time if nobody does. So what is due
 * and what a dead instance held are both found by one range query, whatever the number of other things. Of several
 * holders only the first needs to be found so: when it goes, the thing is filed under the next living one.
 */
final class HoldScripts {

    private static final Script OPEN = script(
            "open.lua",
            "meta things deadlines lengths",
            "layout shards mode lease-ms quiet-ms noted…",
            "status now-ms found");
    private static final Script JOIN =
            script("join.lua", "meta things deadlines lengths", "lease lease-ms valid-until-ms", "status now-ms run");
    private static final Script RENEW =
            script("renew.lua", "meta things deadlines lengths", "lease lease-ms", "status now-ms run");
    private static final Script LEAVE = script("leave.lua", "things lengths", "lease", "status");
    private static final Script ACQUIRE =
            script("acquire.lua", "things due", "sequence file lease things…", "status before records…");
    private static final Script ACQUIRE_OPEN =
            script("acquire-open.lua", "things due", "sequence file lease things…", "status before records…");
    private static final Script TOUCH =
            script("touch.lua", "things due", "sequence idle-ms lease things…", "status before records…");
    private static final Script TOUCH_OPEN =
            script("touch-open.lua", "things due", "sequence idle-ms lease things…", "status before records…");
    private static final Script RELEASE =
            script("release.lua", "things due", "sequence grace-ms lease things…", "status");
    private static final Script PUT =
            script("put.lua", "things data", "sequence lease thing epoch limit fields…", "status size");
    private static final Script LAPSE = script(
            "lapse.lua",
            "meta things due deadlines lengths dead ledger",
            "budget grace-ms space by capacity",
            "status next-ms lapsed released more");
    private static final Script CLAIM = script(
            "claim.lua",
            "meta things due deadlines lengths closing claims letters data kept",
            "limit claim-ms unfinished-max lapses-max grace-ms while-paused by",
            "status next-ms fresh again dead mistaken claims…");
    private static final Script SETTLE = script(
            "settle.lua",
            "meta things closing claims letters data ledger",
            "kind reason space by capacity failures-max claims…",
            "statuses…");
    private static final Script REVIVE = script("revive.lua", "things closing claims letters", "key alone", "status");
    private static final Script DISCARD = script(
            "discard.lua", "meta things closing letters data parts ledger", "key kind space by capacity", "status");
    private static final Script END = script("end.lua", "things due", "thing force by", "status");
    private static final Script PAUSE = script("pause.lua", "meta lengths deadlines", "paused by why", "status");
    private static final Script REBUILD = script(
            "rebuild.lua",
            "meta things due deadlines lengths closing claims letters",
            "finish grace-ms",
            "status phase");
    private static final Script SHOW = script("show.lua", "things due deadlines", "things…", "now-ms shown…");

    private final ScriptCaller caller;
    private final HoldSet set;
    /** The keys of each script in each shard, made once. */
    private final Map<Script, List<List<byte[]>>> keys = new HashMap<>();

    HoldScripts(ScriptCaller caller, HoldSet set) {
        this.caller = caller;
        this.set = set;
        for (Script script : List.of(
                OPEN,
                JOIN,
                RENEW,
                LEAVE,
                ACQUIRE,
                ACQUIRE_OPEN,
                TOUCH,
                TOUCH_OPEN,
                RELEASE,
                PUT,
                LAPSE,
                CLAIM,
                SETTLE,
                REVIVE,
                DISCARD,
                END,
                PAUSE,
                REBUILD,
                SHOW)) {
            List<List<byte[]>> byShard = new ArrayList<>();
            for (int shard = 0; shard < set.shards(); shard++) {
                var keyspace = set.keyspace(shard);
                byShard.add(script.keys().stream().map(keyspace::key).toList());
            }
            keys.put(script, byShard);
        }
    }

    Duration timeout() {
        return caller.timeout();
    }

    private static Script script(String file, String keys, String arguments, String reply) {
        return Script.load(HoldScripts.class, file, keys, arguments, reply);
    }

    /** The answer to a call about a lease, with the server's time. */
    record Beat(Status status, long nowMillis, String run) {
        static Beat of(Reply reply) {
            return new Beat(Status.valueOf(reply.text(0)), reply.number(1), reply.text(2));
        }
    }

    /** What the reply of {@link #open} says of a shard that was not there. */
    static final String NEW_SHARD = "new";

    /** @param quietMillis how long nothing ends in a shard that is new */
    Beat open(int shard, HoldRules rules, long quietMillis) {
        List<String> arguments = new ArrayList<>(List.of(
                Integer.toString(HoldSet.LAYOUT),
                Integer.toString(set.shards()),
                set.mode().name(),
                Long.toString(rules.lease().toMillis()),
                Long.toString(quietMillis)));
        arguments.addAll(rules.noted());
        return Beat.of(caller.call(of(OPEN, shard, arguments)));
    }

    Beat join(int shard, String lease, long leaseMillis, long validUntilMillis) {
        return Beat.of(call(JOIN, shard, lease, Long.toString(leaseMillis), Long.toString(validUntilMillis)));
    }

    Call renewing(int shard, String lease, long leaseMillis) {
        return of(RENEW, shard, List.of(lease, Long.toString(leaseMillis)));
    }

    Call leaving(int shard, String lease) {
        return of(LEAVE, shard, List.of(lease));
    }

    /** The answer to an acquire, touch or release: what the store then had for each thing. */
    record Lines(Status status, String before, List<String> records) {
        static Lines of(Reply reply) {
            String[] lines = reply.text().split("\n", -1);
            String before = lines.length > 1 ? lines[1] : "";
            return new Lines(
                    Status.valueOf(lines[0]),
                    before,
                    lines.length > 2 ? List.of(lines).subList(2, lines.length) : List.of());
        }
    }

    /** @param opens whether things that are not open are opened, which a server without memory refuses */
    Call acquiring(int shard, boolean opens, long sequence, String lease, List<String> ids) {
        return of(
                opens ? ACQUIRE : ACQUIRE_OPEN,
                shard,
                things(List.of(Claim.epochText(sequence), file(lease), lease), ids));
    }

    Call touching(int shard, boolean opens, long sequence, long idleMillis, String lease, List<String> ids) {
        return of(
                opens ? TOUCH : TOUCH_OPEN,
                shard,
                things(List.of(Claim.epochText(sequence), Long.toString(idleMillis), lease), ids));
    }

    Call releasing(int shard, long sequence, long graceMillis, String lease, List<String> ids) {
        return of(RELEASE, shard, things(List.of(Claim.epochText(sequence), Long.toString(graceMillis), lease), ids));
    }

    /** The score under which a lease files what it holds: minus the last 12 digits of its incarnation. */
    private static String file(String lease) {
        return "-" + Long.parseLong(lease.substring(lease.length() - 12), 16);
    }

    Lines lines(Call call) {
        return Lines.of(caller.call(call));
    }

    Status put(int shard, long sequence, String lease, String id, long epoch, long limit, Map<String, String> fields) {
        List<String> arguments = new ArrayList<>(
                List.of(Claim.epochText(sequence), lease, '=' + id, Claim.epochText(epoch), Long.toString(limit)));
        fields.forEach((name, value) -> {
            arguments.add(name);
            arguments.add(value);
        });
        return Status.valueOf(caller.call(of(PUT, shard, arguments)).text(0));
    }

    /** What one step of releasing the dead did; {@code nextMillis} is -1 if there is no lease. */
    record LapseStep(boolean quiet, long nextMillis, long lapsed, long released, boolean more) {
        static LapseStep of(Reply reply) {
            return new LapseStep(
                    Status.valueOf(reply.text(0)) == Status.QUIET,
                    reply.number(1),
                    reply.number(2),
                    reply.number(3),
                    reply.number(4) > 0);
        }
    }

    Call lapsing(int shard, int budget, HoldRules rules, String by) {
        return of(
                LAPSE,
                shard,
                List.of(
                        Integer.toString(budget),
                        Long.toString(rules.grace().toMillis()),
                        set.name(),
                        by,
                        Integer.toString(rules.ledgerCapacity())));
    }

    /** What one step of claiming gave; {@code nextMillis} is -1 if nothing is waiting. */
    record ClaimStep(
            boolean quiet, long nextMillis, long fresh, long again, long dead, long mistaken, List<Claim> claims) {
        static ClaimStep of(Reply reply) {
            List<Claim> claims = new ArrayList<>();
            List<Reply> parts = reply.parts();
            for (int i = 6; i + 2 < parts.size(); i += 3) {
                claims.add(Claim.parse(
                        parts.get(i).text(),
                        parts.get(i + 1).text(),
                        parts.get(i + 2).bytes()));
            }
            return new ClaimStep(
                    Status.valueOf(reply.text(0)) == Status.QUIET,
                    reply.number(1),
                    reply.number(2),
                    reply.number(3),
                    reply.number(4),
                    reply.number(5),
                    claims);
        }
    }

    Call claiming(int shard, int limit, HoldRules rules, String by) {
        return of(
                CLAIM,
                shard,
                List.of(
                        Integer.toString(limit),
                        Long.toString(rules.claim().toMillis()),
                        Integer.toString(rules.unfinishedMax()),
                        Integer.toString(HoldRules.LAPSES_MAX),
                        Long.toString(rules.grace().toMillis()),
                        set.kind() == ThingId.Kind.AGGREGATE ? "1" : "0", // writing a row deletes nothing
                        by));
    }

    Call settling(int shard, HoldRules rules, String by, ReclaimReason reason, List<Settlement> settlements) {
        List<String> arguments = new ArrayList<>(List.of(
                set.kind().name(),
                reason.name(),
                set.name(),
                by,
                Integer.toString(rules.ledgerCapacity()),
                Integer.toString(rules.failuresMax())));
        for (Settlement one : settlements) {
            arguments.add(one.verb().word());
            arguments.add(one.claim().key());
            arguments.add(Long.toString(one.claim().token()));
            arguments.add(Long.toString(one.millis()));
            arguments.add(one.reason());
        }
        return of(SETTLE, shard, arguments);
    }

    /** @param alone whether to refuse while a newer life of the thing is open */
    Status revive(int shard, String id, long epoch, boolean alone) {
        return Status.valueOf(
                call(REVIVE, shard, Claim.key(id, epoch), alone ? "1" : "0").text(0));
    }

    Status discard(int shard, String id, long epoch, String by, int ledgerCapacity) {
        String kind = set.kind().name();
        return Status.valueOf(
                call(DISCARD, shard, Claim.key(id, epoch), kind, set.name(), by, Integer.toString(ledgerCapacity))
                        .text(0));
    }

    Status end(int shard, String id, boolean force, String by) {
        return Status.valueOf(call(END, shard, '=' + id, force ? "1" : "0", by).text(0));
    }

    Status pause(int shard, boolean paused, String by, String why) {
        return Status.valueOf(call(PAUSE, shard, paused ? "1" : "0", by, why).text(0));
    }

    /** One step of rebuilding a torn shard; the phase it is in. */
    Status rebuild(int shard, boolean finish, long graceMillis) {
        return Status.valueOf(call(REBUILD, shard, finish ? "1" : "0", Long.toString(graceMillis))
                .text(0));
    }

    Reply show(int shard, List<String> ids) {
        return caller.call(of(SHOW, shard, things(List.of(), ids)));
    }

    List<Outcome> all(List<Call> calls) {
        return caller.callAll(calls);
    }

    private Reply call(Script script, int shard, String... arguments) {
        return caller.call(of(script, shard, List.of(arguments)));
    }

    private Call of(Script script, int shard, List<String> arguments) {
        List<byte[]> bytes = new ArrayList<>(arguments.size());
        for (String argument : arguments) {
            bytes.add(argument.getBytes(UTF_8));
        }
        return new Call(script, Objects.requireNonNull(keys.get(script)).get(shard), bytes);
    }

    private static List<String> things(List<String> first, List<String> ids) {
        List<String> all = new ArrayList<>(first.size() + ids.size());
        all.addAll(first);
        for (String id : ids) {
            all.add('=' + id);
        }
        return all;
    }
}
