package io.holdfast.redis.aggregate;

import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One merged value on its way to the sink. */
public final class Flush<T> {

    private final String set;
    private final String key;
    private final long epoch;
    private final long token;
    private final T value;
    private final byte[] bytes;
    private final byte[] packedParts;
    private final Tally tally;
    private final int parts;
    private @Nullable String refusal;

    Flush(
            String set,
            String key,
            long epoch,
            long token,
            T value,
            byte[] bytes,
            byte[] packedParts,
            Tally tally,
            int parts) {
        this.set = set;
        this.key = key;
        this.epoch = epoch;
        this.token = token;
        this.value = value;
        this.bytes = bytes;
        this.packedParts = packedParts;
        this.tally = tally;
        this.parts = parts;
    }

    /** The name of the aggregates. */
    public String set() {
        return set;
    }

    public String key() {
        return key;
    }

    /** Which life of the key; with the key, the identity of the value. */
    public long epoch() {
        return epoch;
    }

    /** The fencing number of the claim: a later attempt has a higher one. */
    public long token() {
        return token;
    }

    public T value() {
        return value;
    }

    /** The value by the codec of this instance. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /**
     * A digest of the parts that were merged, as they are stored; 32 hex digits. A later attempt has the same one, also by an
     * instance with another codec or another version of the record, whose bytes of the value differ.
     */
    public String digest() {
        return HexFormat.of().formatHex(Digest.of(packedParts));
    }

    /** How many updates it was made of. */
    public long updates() {
        return tally.updates();
    }

    /** How many instances have added to it. */
    public int parts() {
        return parts;
    }

    /** The earliest time that an update was given; empty if none was. */
    public Optional<Instant> firstEvent() {
        return tally.first();
    }

    public Optional<Instant> lastEvent() {
        return tally.last();
    }

    /** This value can never be written: it becomes a dead letter with this reason, and its parts are kept. */
    public void refuse(String reason) {
        refusal = reason;
    }

    @Nullable
    String refusal() {
        return refusal;
    }

    @Override
    public String toString() {
        return set + "/" + key + " epoch " + epoch + " token " + token + ": " + value;
    }
}
