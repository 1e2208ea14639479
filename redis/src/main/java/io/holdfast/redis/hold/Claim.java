package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One instance's right to close one life of a thing.
 *
 * @param epoch which life
 * @param token the fencing number: higher than that of every earlier claim in the shard
 * @param attempt the how-manieth attempt this is, from 1
 * @param evidence why the thing is due, for people
 * @param data the data fields of that life
 */
public record Claim(String id, long epoch, long token, int attempt, String evidence, Map<String, String> data) {

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

    /** Reads the key, the record {@code TOKEN ATTEMPTS CLAIMER EVIDENCE} and the packed data. */
    static Claim parse(String key, String record, byte[] data) {
        String[] words = record.split(" ", 4);
        return new Claim(
                key.substring(17),
                Long.parseLong(key.substring(0, 16)),
                Long.parseLong(words[0]),
                Integer.parseInt(words[1]),
                words[3],
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
