package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/** The first 16 bytes of SHA-256. */
final class Digest {

    private static final ThreadLocal<MessageDigest> SHA = ThreadLocal.withInitial(() -> {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    });

    private Digest() {}

    static byte[] of(byte[] bytes) {
        return Arrays.copyOf(SHA.get().digest(bytes), 16);
    }

    /** The name under which an update of an unordered source is remembered. */
    static byte[] of(String source, String id, String key) {
        return of((source + '\0' + id + '\0' + key).getBytes(UTF_8));
    }
}
