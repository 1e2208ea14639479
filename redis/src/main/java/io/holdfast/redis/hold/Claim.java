package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One instance's right to close one life of a thing.
 *
 * @param epoch which life
 * @param token the fencing number: higher than that of every earlier claim in the shard
 * @param failures how many handlers reported a failure before
 * @param lapses how many earlier claims ran out without a result: their claimers died, or were cut off
 * @param evidence why the thing is due, for people
 * @param since when its last holder went, by the server's clock; null if that is not known
 * @param data the data fields of that life
 */
public record Claim(
        String id,
        long epoch,
        long token,
        int failures,
        int lapses,
        String evidence,
        @Nullable Instant since,
        Map<String, String> data) {

    /** The number of this attempt, from 1. */
    public int attempt() {
        return failures + lapses + 1;
    }

    /** The field of the closing record: {@code EPOCH(16)=ID}. */
    String key() {
        return key(id, epoch);
    }

    static String key(String id, long epoch) {
        return epochText(epoch) + '=' + id;
    }

    static String epochText(long epoch) {
        String digits = Long.toString(epoch);
        return "0".repeat(Math.max(0, 16 - digits.length())) + digits;
    }

    /** Reads the key, the record {@code TOKEN FAILURES LAPSES CLAIMER EVIDENCE} and the packed data. */
    static Claim parse(String key, String record, byte[] data) {
        String[] words = record.split(" ", 5);
        Evidence evidence = Evidence.of(words[4]);
        return new Claim(
                key.substring(17),
                Long.parseLong(key.substring(0, 16)),
                Long.parseLong(words[0]),
                Integer.parseInt(words[1]),
                Integer.parseInt(words[2]),
                evidence.text(),
                evidence.since(),
                unpack(data));
    }

    /** Reads {@code LENGTH:BYTES}, name and value by turns. */
    static Map<String, String> unpack(byte[] packed) {
        Map<String, String> fields = new LinkedHashMap<>();
        ByteBuffer in = ByteBuffer.wrap(packed);
        while (in.hasRemaining()) {
            String name = part(in);
            fields.put(name, part(in));
        }
        return Map.copyOf(fields);
    }

    private static String part(ByteBuffer in) {
        int length = 0;
        for (byte digit = in.get(); digit != ':'; digit = in.get()) {
            length = length * 10 + digit - '0';
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, UTF_8);
    }
}
