package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.Ledger;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.Setting;
import io.holdfast.ThingId;
import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import redis.clients.jedis.Protocol.Command;

/**
 * The ledger as a bounded Redis stream, one per shard, so that a script can append to it in the same step that
 * reclaims. An entry's fields:
 *
 * <pre>
 *   k  kind         s  space        r  reason      e  evidence      b  by (holder)
 *   t  milliseconds of the reclaim; without it the entry's own time, which is the server's, counts
 *   i  ids as text, each as LENGTH:BYTES              one of i and p
 *   p  ids as packed bytes of width w, shown as hex, in any number of such fields (what the scripts of the graph write)
 * </pre>
 */
public final class RedisLedger implements Ledger {

    /** How many records a shard's ledger keeps, about. */
    public static final Setting<Integer> CAPACITY = Setting.integer("ledger.capacity", 10_000, 100, 10_000_000);

    private static final int PAGE = 256;
    private static final byte[] ONE_BEFORE = {'('};

    private final RedisLink link;
    private final byte[] stream;
    private final int capacity;

    public RedisLedger(RedisLink link, byte[] stream, int capacity) {
        this.link = link;
        this.stream = stream;
        this.capacity = capacity;
    }

    @Override
    public void append(Reclaimed reclaimed) {
        link.command(
                Command.XADD,
                stream,
                ascii("MAXLEN"),
                ascii("~"),
                ascii(Integer.toString(capacity)),
                ascii("*"),
                ascii("k"),
                ascii(reclaimed.kind().name()),
                ascii("s"),
                reclaimed.space().getBytes(UTF_8),
                ascii("r"),
                ascii(reclaimed.reason().name()),
                ascii("e"),
                reclaimed.evidence().getBytes(UTF_8),
                ascii("b"),
                ascii(reclaimed.by().toString()),
                ascii("t"),
                ascii(Long.toString(reclaimed.at().toEpochMilli())),
                ascii("i"),
                pack(reclaimed.ids()));
    }

    @Override
    public Optional<Reclaimed> find(ThingId thing) {
        Reclaimed[] found = new Reclaimed[1];
        walk(Command.XREVRANGE, "+", "-", record -> {
            if (record.tellsOf(thing)) {
                found[0] = record;
            }
            return found[0] == null;
        });
        return Optional.ofNullable(found[0]);
    }

    @Override
    public List<Reclaimed> since(Instant from, int limit) {
        List<Reclaimed> records = new ArrayList<>();
        walk(Command.XRANGE, "-", "+", record -> {
            if (!record.at().isBefore(from) && records.size() < limit) {
                records.add(record);
            }
            return records.size() < limit;
        });
        return records;
    }

    /** Reads page by page until the visitor has had enough. */
    private void walk(Command command, String from, String to, Predicate<Reclaimed> visitor) {
        byte[] start = ascii(from);
        while (true) {
            List<Reply> page = link.command(
                            command, stream, start, ascii(to), ascii("COUNT"), ascii(Integer.toString(PAGE)))
                    .parts();
            for (Reply entry : page) {
                if (!visitor.test(record(entry))) {
                    return;
                }
            }
            if (page.size() < PAGE) {
                return;
            }
            start = concat(ONE_BEFORE, page.getLast().bytes(0));
        }
    }

    private static Reclaimed record(Reply entry) {
        Map<String, byte[]> fields = new HashMap<>();
        List<Reply> flat = entry.part(1).parts();
        for (int i = 0; i + 1 < flat.size(); i += 2) {
            fields.merge(flat.get(i).text(), flat.get(i + 1).bytes(), RedisLedger::concat);
        }
        String entryId = entry.text(0);
        String millis =
                fields.containsKey("t") ? text(fields, "t") : entryId.substring(0, Math.max(0, entryId.indexOf('-')));
        try {
            return new Reclaimed(
                    ThingId.Kind.valueOf(text(fields, "k")),
                    text(fields, "s"),
                    fields.containsKey("p") ? packedIds(fields) : unpack(field(fields, "i")),
                    ReclaimReason.valueOf(text(fields, "r")),
                    text(fields, "e"),
                    Instant.ofEpochMilli(Long.parseLong(millis)),
                    HolderId.parse(text(fields, "b")));
        } catch (IllegalArgumentException e) {
            throw new HoldfastException(
                    HoldfastException.Category.CORRUPT, "ledger entry " + entryId + " cannot be read", e);
        }
    }

    private static String text(Map<String, byte[]> fields, String name) {
        return new String(field(fields, name), UTF_8);
    }

    private static byte[] field(Map<String, byte[]> fields, String name) {
        byte[] value = fields.get(name);
        if (value == null) {
            throw new IllegalArgumentException("no field " + name);
        }
        return value;
    }

    private static List<String> packedIds(Map<String, byte[]> fields) {
        byte[] packed = field(fields, "p");
        int width = Integer.parseInt(text(fields, "w"));
        List<String> ids = new ArrayList<>();
        for (int at = 0; at + width <= packed.length; at += width) {
            ids.add(HexFormat.of().formatHex(packed, at, at + width));
        }
        return ids;
    }

    private static byte[] pack(List<String> ids) {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        for (String id : ids) {
            byte[] bytes = id.getBytes(UTF_8);
            packed.writeBytes(ascii(bytes.length + ":"));
            packed.writeBytes(bytes);
        }
        return packed.toByteArray();
    }

    private static List<String> unpack(byte[] packed) {
        List<String> ids = new ArrayList<>();
        int at = 0;
        while (at < packed.length) {
            int colon = at;
            while (packed[colon] != ':') {
                colon++;
            }
            int length = Integer.parseInt(new String(packed, at, colon - at, US_ASCII));
            ids.add(new String(packed, colon + 1, length, UTF_8));
            at = colon + 1 + length;
        }
        return ids;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }

    private static byte[] concat(byte[] first, byte[] second) {
        byte[] both = new byte[first.length + second.length];
        System.arraycopy(first, 0, both, 0, first.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
