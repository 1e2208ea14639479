package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.ThingId;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/** A set as an observer sees it: without a lease, and without changing anything but what an operator asks for. */
public final class HoldView {

    private static final int PAGE = 256;
    private static final int SAMPLE = 256;

    /** What a thing may be doing. */
    public enum State {
        /** Somebody holds it. */
        LIVE,
        /** Nobody does, and its time runs out. */
        GRACE,
        /** It is being closed. */
        CLOSING,
        /** Closing it failed too often. */
        DEAD_LETTER
    }

    /** A living holder of a thing, and how long its lease still runs; negative if it is late. */
    public record Holder(String name, long leaseMillis) {}

    /**
     * A life of a thing.
     *
     * @param holders those that live, if it is held
     * @param dueInMillis until it is due, or the claim lapses, or the next attempt; how long ago it became a dead letter
     * @param attempts how often closing it failed or was begun without a result
     * @param evidence why it is due, for people; of a dead letter also why it failed
     * @param since when its last holder went, by the server's clock; null if somebody holds it or it is not known
     */
    public record Life(
            String id,
            long epoch,
            State state,
            List<Holder> holders,
            long dueInMillis,
            int attempts,
            String claimer,
            String evidence,
            @Nullable Instant since) {}

    /**
     * Who paused a set.
     *
     * @param at by the server's clock
     */
    public record Pause(String by, Instant at, String why) {}

    /** How much of everything there is, in all shards. */
    public record Stats(
            long live,
            long grace,
            long due,
            long closing,
            long deadLetters,
            long leases,
            long closed,
            boolean quiet,
            Map<Integer, Long> holdersSampled) {}

    private final RedisLink link;
    private final HoldSet set;
    private final HoldScripts scripts;

    public HoldView(RedisLink link, HoldSet set) {
        this.link = link;
        this.set = set;
        this.scripts = new HoldScripts(ScriptCaller.by(link), set);
    }

    /** The set as it is stored; empty if there is none of this name. */
    public static Optional<HoldView> find(RedisLink link, ThingId.Kind kind, String name) {
        byte[] meta = new Keyspace(kind.word(), name, 0).key("meta");
        List<byte @Nullable []> found =
                link.command(Command.HMGET, meta, text("shards"), text("mode")).allBytes();
        byte @Nullable [] shards = found.get(0);
        byte @Nullable [] mode = found.get(1);
        if (shards == null || mode == null) {
            return Optional.empty();
        }
        return Optional.of(new HoldView(
                link,
                new HoldSet(
                        kind,
                        name,
                        Integer.parseInt(new String(shards, UTF_8)),
                        HoldSet.Mode.valueOf(new String(mode, UTF_8)))));
    }

    public HoldSet set() {
        return set;
    }

    /** The living holders of a thing. */
    public List<Holder> holders(String id) {
        return open(id).map(Life::holders).orElse(List.of());
    }

    /** The open life of a thing, if it has one. */
    public Optional<Life> open(String id) {
        Reply reply = scripts.show(set.shardOf(id), List.of(set.check(id)));
        return life(id, reply.number(0), reply.part(1));
    }

    /** All lives of a thing: the open one, those that are being closed, and dead letters. */
    public List<Life> show(String id) {
        List<Life> lives = new ArrayList<>();
        open(id).ifPresent(lives::add);
        int shard = set.shardOf(id);
        byte[] pattern = text("????????????????=" + id.replaceAll("([\\[\\]*?\\\\])", "\\\\$1"));
        byte[] cursor = text("0");
        do {
            Reply page = link.command(
                    Command.HSCAN, key(shard, "closing"), cursor, text("MATCH"), pattern, text("COUNT"), text("1000"));
            cursor = page.bytes(0);
            List<Reply> flat = page.part(1).parts();
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                lives.add(closing(shard, flat.get(i).text(), flat.get(i + 1).text()));
            }
        } while (!Arrays.equals(cursor, text("0")));
        return lives;
    }

    private static Optional<Life> life(String id, long now, Reply shown) {
        String record = shown.text(0);
        if (record.isEmpty() || record.charAt(0) == '0') {
            return Optional.empty();
        }
        List<Holder> holders = new ArrayList<>();
        for (int i = 2; i + 1 < shown.size(); i += 2) {
            holders.add(new Holder(shown.text(i), shown.number(i + 1)));
        }
        String score = shown.text(1);
        double filed = score.isEmpty() ? 0 : Double.parseDouble(score);
        boolean held = record.length() > 17 && record.charAt(17) == ',';
        Evidence evidence = Evidence.of(held || record.length() < 19 ? "" : record.substring(18));
        return Optional.of(new Life(
                id,
                Long.parseLong(record.substring(0, 16)),
                held ? State.LIVE : State.GRACE,
                holders,
                held ? 0 : (long) filed - now,
                0,
                "",
                evidence.text(),
                evidence.since()));
    }

    private Life closing(int shard, String key, String record) {
        long now = scripts.show(shard, List.of()).number(0);
        Reply letter = link.command(Command.ZSCORE, key(shard, "letters"), text(key));
        boolean dead = !letter.isNull();
        Reply due = dead ? letter : link.command(Command.ZSCORE, key(shard, "claims"), text(key));
        long at = due.isNull() ? now : (long) Double.parseDouble(due.text());
        String[] words = record.split(" ", 5);
        Evidence evidence = Evidence.of(words[4]);
        return new Life(
                key.substring(17),
                Long.parseLong(key.substring(0, 16)),
                dead ? State.DEAD_LETTER : State.CLOSING,
                List.of(),
                at - now,
                Integer.parseInt(words[1]) + Integer.parseInt(words[2]),
                words[3],
                evidence.text(),
                evidence.since());
    }

    /** Up to so many lives in the given state, those that are due first. */
    public List<Life> list(State state, int limit) {
        List<Life> lives = new ArrayList<>();
        for (int shard = 0; shard < set.shards() && lives.size() < limit; shard++) {
            int wanted = limit - lives.size();
            switch (state) {
                case LIVE -> lives.addAll(open(shard, "-inf", "(0", wanted));
                case GRACE -> lives.addAll(open(shard, "0", "+inf", wanted));
                case CLOSING -> lives.addAll(closings(shard, "claims", wanted));
                case DEAD_LETTER -> lives.addAll(closings(shard, "letters", wanted));
            }
        }
        return lives;
    }

    private List<Life> open(int shard, String from, String to, int limit) {
        List<Life> lives = new ArrayList<>();
        for (int offset = 0; offset < limit; offset += PAGE) {
            List<String> ids = link
                    .command(
                            Command.ZRANGEBYSCORE,
                            key(shard, "due"),
                            text(from),
                            text(to),
                            text("LIMIT"),
                            text(Integer.toString(offset)),
                            text(Integer.toString(Math.min(PAGE, limit - offset))))
                    .parts()
                    .stream()
                    .map(part -> part.text().substring(1))
                    .toList();
            if (ids.isEmpty()) {
                break;
            }
            Reply shown = scripts.show(shard, ids);
            for (int i = 0; i < ids.size(); i++) {
                life(ids.get(i), shown.number(0), shown.part(i + 1)).ifPresent(lives::add);
            }
        }
        return lives;
    }

    private List<Life> closings(int shard, String part, int limit) {
        List<Life> lives = new ArrayList<>();
        List<Reply> keys = link.command(Command.ZRANGE, key(shard, part), text("0"), text(Integer.toString(limit - 1)))
                .parts();
        for (Reply one : keys) {
            Reply record = link.command(Command.HGET, key(shard, "closing"), one.bytes());
            if (!record.isNull()) {
                lives.add(closing(shard, one.text(), record.text()));
            }
        }
        return lives;
    }

    /** The data fields of one life. */
    public Map<String, String> data(String id, long epoch) {
        Reply packed = link.command(Command.HGET, key(set.shardOf(id), "data"), text(Claim.key(id, epoch)));
        return packed.isNull() ? Map.of() : Claim.unpack(packed.bytes());
    }

    public Stats stats() {
        long[] sums = new long[7];
        boolean quiet = false;
        Map<Integer, Long> holders = new TreeMap<>();
        for (int shard = 0; shard < set.shards(); shard++) {
            long now = scripts.show(shard, List.of()).number(0);
            sums[0] += count(shard, "-inf", "(0");
            sums[1] += count(shard, "0", "+inf");
            sums[2] += count(shard, "0", Long.toString(now));
            sums[3] += link.command(Command.ZCARD, key(shard, "claims")).number();
            sums[4] += link.command(Command.ZCARD, key(shard, "letters")).number();
            sums[5] += link.command(Command.ZCARD, key(shard, "deadlines")).number();
            List<byte @Nullable []> meta = link.command(
                            Command.HMGET, key(shard, "meta"), text("closed"), text("quiet"))
                    .allBytes();
            sums[6] += number(meta.get(0));
            quiet |= number(meta.get(1)) > now;
            sampleHolders(shard, holders);
        }
        return new Stats(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], quiet, holders);
    }

    private void sampleHolders(int shard, Map<Integer, Long> holders) {
        List<Reply> flat = link.command(
                        Command.HRANDFIELD, key(shard, "things"), text(Integer.toString(SAMPLE)), text("WITHVALUES"))
                .parts();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i + 1 < flat.size(); i += 2) {
            if (flat.get(i).text().startsWith("=")) {
                ids.add(flat.get(i).text().substring(1));
            }
        }
        Reply shown = scripts.show(shard, ids);
        for (int i = 0; i < ids.size(); i++) {
            life(ids.get(i), shown.number(0), shown.part(i + 1))
                    .ifPresent(life -> holders.merge(life.holders().size(), 1L, Long::sum));
        }
    }

    private long count(int shard, String from, String to) {
        return link.command(Command.ZCOUNT, key(shard, "due"), text(from), text(to))
                .number();
    }

    private static long number(byte @Nullable [] digits) {
        return digits == null ? 0 : Long.parseLong(new String(digits, UTF_8));
    }

    /**
     * Makes an open thing due at once.
     *
     * @param force whether to do so also while instances hold it; they are not told
     * @param by who asked for it, for the ledger
     * @throws HoldfastException GONE if it is not open; RETRY while it is held, unless forced
     */
    public void end(String id, boolean force, String by) {
        Status status = scripts.end(set.shardOf(id), set.check(id), force, by);
        switch (status) {
            case OK -> {}
            case HELD ->
                throw new HoldfastException(
                        Category.RETRY,
                        set.kind().word() + " '" + id + "' is held by "
                                + String.join(
                                        ", ",
                                        holders(id).stream().map(Holder::name).toList()),
                        "wait until it leaves, or force the end",
                        null);
            default ->
                throw new HoldfastException(
                        Category.GONE, "no open " + set.kind().word() + " '" + id + "' in " + set);
        }
    }

    /**
     * Gives a dead letter its attempts back.
     *
     * @throws HoldfastException GONE if there is no such letter; RETRY while a newer life of a session is open, since closing
     *     the older one would stop what is served now
     */
    public void retry(String id, long epoch) {
        boolean alone = set.kind() == ThingId.Kind.SESSION;
        Status status = scripts.revive(set.shardOf(id), set.check(id), epoch, alone);
        switch (status) {
            case OK -> {}
            case SERVED ->
                throw new HoldfastException(
                        Category.RETRY,
                        "a newer life of " + set.kind().word() + " '" + id + "' is open; closing epoch " + epoch
                                + " could stop it",
                        "retry when it is closed, or discard the letter",
                        null);
            case BUSY ->
                throw new HoldfastException(
                        Category.RETRY, "too many earlier lives of '" + id + "' are being closed at the moment");
            default -> throw noLetter(id, epoch);
        }
    }

    /**
     * Forgets a dead letter, its data and its parts; the ledger says who did.
     *
     * @param by the text form of a {@link HolderId}: a ledger with any other could not be read
     * @throws HoldfastException GONE if there is no such letter; MISUSE if {@code by} is not a holder
     */
    public void discard(String id, long epoch, String by) {
        HolderId.parse(by);
        int capacity = RedisLedger.CAPACITY.defaultValue();
        if (scripts.discard(set.shardOf(id), set.check(id), epoch, by, capacity) != Status.OK) {
            throw noLetter(id, epoch);
        }
    }

    private HoldfastException noLetter(String id, long epoch) {
        return new HoldfastException(Category.GONE, "no dead letter '" + id + "' of epoch " + epoch + " in " + set);
    }

    /**
     * Pauses the set: no lease lapses and no session is closed until {@link #resume}. What an instance is closing already, it
     * finishes. Aggregates go on writing rows, which deletes nothing.
     */
    public void pause(String by, String why) {
        eachShard(shard -> scripts.pause(shard, true, by, why));
    }

    /** Lifts a pause. Every lease then has its whole length to be renewed before anything ends. */
    public void resume(String by) {
        eachShard(shard -> scripts.pause(shard, false, by, ""));
    }

    private void eachShard(IntConsumer call) {
        for (int shard = 0; shard < set.shards(); shard++) {
            call.accept(shard);
        }
    }

    /** Who paused the set; empty if it is not paused. */
    public Optional<Pause> paused() {
        for (int shard = 0; shard < set.shards(); shard++) {
            Reply stored = link.command(Command.HGET, key(shard, "meta"), text("paused"));
            if (!stored.isNull() && !stored.text().isEmpty()) {
                String[] lines = stored.text().split("\n", 3);
                return Optional.of(new Pause(lines[0], Instant.ofEpochMilli(Long.parseLong(lines[1])), lines[2]));
            }
        }
        return Optional.empty();
    }

    /** What is gone, of the thing's shard. */
    public RedisLedger ledger(String id) {
        return new RedisLedger(link, key(set.shardOf(id), "ledger"), RedisLedger.CAPACITY.defaultValue());
    }

    public List<RedisLedger> ledgers() {
        List<RedisLedger> all = new ArrayList<>();
        for (int shard = 0; shard < set.shards(); shard++) {
            all.add(new RedisLedger(link, key(shard, "ledger"), RedisLedger.CAPACITY.defaultValue()));
        }
        return all;
    }

    private byte[] key(int shard, String part) {
        return set.keyspace(shard).key(part);
    }

    private static byte[] text(String text) {
        return text.getBytes(UTF_8);
    }
}
