package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.ReclaimReason;
import io.holdfast.Reclaimed;
import io.holdfast.ThingId;
import io.holdfast.redis.link.Keyspace;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * A set of things and how it is spread: what all instances must agree on, and what {@code meta} of each shard
 * remembers.
 *
 * @param kind what its things are
 * @param shards over how many slots the things are spread, for the life of the set
 */
public record HoldSet(ThingId.Kind kind, String name, int shards, Mode mode) {

    /** What keeps a thing of the set. */
    public enum Mode {
        /** Instances hold it. */
        HOLDERS,
        /** It lives for an idle time after the last activity. */
        IDLE
    }

    /** The version of what is stored, in {@code meta}. */
    static final int LAYOUT = 3;

    /** The longest id, in bytes. */
    static final int ID_BYTES_MAX = 512;

    public static final int SHARDS_MAX = 1_024;

    public Keyspace keyspace(int shard) {
        return new Keyspace(kind.word(), name, shard);
    }

    /** Where a thing lives; the same in every version and language. */
    public int shardOf(String id) {
        CRC32C crc = new CRC32C();
        crc.update(id.getBytes(UTF_8));
        return (int) (crc.getValue() % shards);
    }

    /** Refuses an id that cannot be right. */
    public String check(String id) {
        int bytes = id.getBytes(UTF_8).length;
        if (bytes == 0 || bytes > ID_BYTES_MAX) {
            String given = bytes == 0 ? "an empty id" : "an id of " + bytes + " bytes";
            throw HoldfastException.misuse(
                    given + " for a " + kind.word() + " of '" + name + "'",
                    "give an id of 1 to " + ID_BYTES_MAX + " bytes");
        }
        return id;
    }

    @Override
    public String toString() {
        return kind.word() + "s '" + name + "'";
    }

    /** What listeners are told of a claim that was committed. */
    public Reclaimed reclaimed(Claim claim, ReclaimReason reason, HolderId by) {
        // The token is the store's time of the claim, in microseconds, or a little more.
        Instant at = Instant.EPOCH.plus(claim.token(), ChronoUnit.MICROS);
        return new Reclaimed(kind, name, List.of(claim.id()), reason, claim.evidence(), at, by);
    }
}
