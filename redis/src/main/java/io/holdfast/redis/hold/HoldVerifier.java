package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import redis.clients.jedis.Protocol.Command;

/**
 * Checks a set while it is being used, without changing it: that every open thing can be found by whoever would close it, that
 * no holder is counted twice, that every lease can lapse, and that every close that was begun will be ended by somebody.
 *
 * <p>A thing is read with its place in the index in one script, so that both belong together. What spans more than that
 * is looked at again, {@value #LOOKS} times with a pause: what changes is not wrong, what stays wrong is.
 */
public final class HoldVerifier {

    /** One thing that is not as it should be. */
    public record Finding(String thing, String detail) {}

    /** What was looked at, and what was found. */
    public record Report(long things, long leases, long closing, List<Finding> findings) {

        public boolean isSound() {
            return findings.isEmpty();
        }
    }

    static final int LOOKS = 4;
    private static final Duration PAUSE = Duration.ofMillis(250);
    private static final int PAGE = 256;

    private final RedisLink link;
    private final HoldSet set;
    private final HoldScripts scripts;
    private final LongConsumer progress;
    private final List<Finding> findings = new ArrayList<>();
    private long things;
    private long leases;
    private long closing;

    /** @param progress told how many things were looked at */
    public HoldVerifier(RedisLink link, HoldSet set, LongConsumer progress) {
        this.link = link;
        this.set = set;
        this.scripts = new HoldScripts(ScriptCaller.by(link), set);
        this.progress = progress;
    }

    public Report run() {
        for (int shard = 0; shard < set.shards(); shard++) {
            verifyThings(shard);
            verifyIndex(shard);
            verifyClosing(shard);
        }
        return new Report(things, leases, closing, List.copyOf(findings));
    }

    /** Something that may be wrong with one field, as it is now; empty if nothing is. */
    private interface Look {
        Optional<String> at(int shard, String name);
    }

    private void judge(int shard, String name, Look look) {
        Optional<String> wrong = look.at(shard, name);
        for (int again = 1; again < LOOKS && wrong.isPresent(); again++) {
            LockSupport.parkNanos(PAUSE.toNanos());
            wrong = look.at(shard, name);
        }
        wrong.ifPresent(detail -> findings.add(new Finding(name, detail)));
    }

    private void verifyThings(int shard) {
        scan(shard, Command.HSCAN, "things", name -> {
            if (name.startsWith("=")) {
                things++;
                progress.accept(things);
                judge(shard, name.substring(1), this::thing);
            } else if (name.startsWith(",")) {
                leases++;
                judge(shard, name, this::lease);
            }
        });
    }

    private Optional<String> thing(int shard, String id) {
        Reply shown = scripts.show(shard, List.of(id)).part(1);
        String record = shown.text(0);
        if (record.isEmpty() || record.charAt(0) == '0') {
            return Optional.empty();
        }
        String score = shown.text(1);
        if (record.length() < 18 || ",-".indexOf(record.charAt(17)) < 0) {
            return Optional.of("its record cannot be read: " + record);
        }
        if (score.isEmpty()) {
            return Optional.of("it is open and not in the index: nobody would ever close it");
        }
        boolean held = record.charAt(17) == ',';
        if (held != Double.parseDouble(score) < 0) {
            return Optional.of((held ? "it is held" : "nobody holds it") + " and the index says otherwise");
        }
        if (!held) {
            return Optional.empty();
        }
        List<String> holders = Arrays.asList(record.substring(18).split(","));
        if (new HashSet<>(holders).size() < holders.size()) {
            return Optional.of("a holder is counted twice: " + holders);
        }
        boolean living = shown.size() > 2;
        return living
                        || command(Command.ZSCORE, shard, "dead", "," + holders.getFirst())
                                .isPresent()
                ? Optional.empty()
                : Optional.of("its holders are dead and nobody is going to release them: " + holders);
    }

    private Optional<String> lease(int shard, String lease) {
        boolean known = command(Command.HGET, shard, "things", lease).isPresent();
        boolean ends = command(Command.ZSCORE, shard, "deadlines", lease).isPresent();
        return known && !ends ? Optional.of("a lease without a deadline: it would never lapse") : Optional.empty();
    }

    private void verifyIndex(int shard) {
        scan(
                shard,
                Command.ZSCAN,
                "due",
                name -> judge(shard, name.substring(1), (at, id) -> {
                    String record =
                            command(Command.HGET, at, "things", "=" + id).orElse("");
                    boolean open = !record.isEmpty() && record.charAt(0) != '0';
                    boolean filed = command(Command.ZSCORE, at, "due", "=" + id).isPresent();
                    return open || !filed ? Optional.empty() : Optional.of("the index has it and it is not open");
                }));
    }

    private void verifyClosing(int shard) {
        scan(shard, Command.HSCAN, "closing", name -> {
            closing++;
            judge(shard, name, (at, key) -> {
                boolean there = command(Command.HGET, at, "closing", key).isPresent();
                boolean claimed = command(Command.ZSCORE, at, "claims", key).isPresent();
                boolean dead = command(Command.ZSCORE, at, "letters", key).isPresent();
                return there && claimed == dead
                        ? Optional.of(
                                claimed ? "it is claimed and a dead letter" : "its close was begun and nobody ends it")
                        : Optional.empty();
            });
        });
    }

    private interface Each {
        void name(String name);
    }

    private void scan(int shard, Command command, String part, Each each) {
        byte[] key = set.keyspace(shard).key(part);
        byte[] cursor = text("0");
        do {
            Reply page = link.command(command, key, cursor, text("COUNT"), text(Integer.toString(PAGE)));
            List<Reply> flat = page.part(1).parts();
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                each.name(flat.get(i).text());
            }
            cursor = page.bytes(0);
        } while (!Arrays.equals(cursor, text("0")));
    }

    private Optional<String> command(Command command, int shard, String part, String field) {
        Reply reply = link.command(command, set.keyspace(shard).key(part), text(field));
        return reply.isNull() ? Optional.empty() : Optional.of(reply.text());
    }

    private static byte[] text(String text) {
        return text.getBytes(UTF_8);
    }
}
