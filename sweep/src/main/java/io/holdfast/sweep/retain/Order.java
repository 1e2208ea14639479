package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;

/**
 * What a node is told to do with a cycle that it has examined, signed as exactly the bytes of {@link #encode()}. It
 * names node, cycle, filter and number, so it can be used for nothing else; used twice, it does nothing the second time.
 *
 * @param cycle which cycle; 0 for EMPTY and LOSSES, which are about no single one
 * @param digest of the filter that was examined; empty where no filter is meant
 * @param count how many pieces the node said it would trash, or are lost
 * @param detail the operator's name, or the piece of an alarm
 */
public record Order(
        Kind kind,
        OwnerId owner,
        NodeId node,
        long cycle,
        String digest,
        long count,
        Instant issuedAt,
        Instant goodUntil,
        String detail,
        String keyId) {

    private static final String DOMAIN = "holdfast order 1";
    private static final int DETAIL_MAX = 128;

    /** How long an order to empty is good for. */
    public static final Duration EMPTY_VALID_FOR = Duration.ofHours(1);

    /** What is ordered, and who may order it. */
    public enum Kind {
        /** Trash what was examined: the fleet's total is within its limit. */
        RELEASE(KeyRing.Role.MANAGER),
        /** Trash what was examined, though the node's verdict says that a person must decide. */
        APPROVE(KeyRing.Role.OPERATOR),
        /** Undo a cycle. */
        RESTORE(KeyRing.Role.OPERATOR),
        /** Delete for good what has been in the trash long enough. */
        EMPTY(KeyRing.Role.MANAGER),
        /** The catalogue was asked about the piece of an alarm. */
        END_ALARM(KeyRing.Role.MANAGER),
        /** The catalogue knows a piece in the trash: bring it back. */
        RESCUE(KeyRing.Role.MANAGER),
        /** So many live pieces are known to be lost on the node. */
        LOSSES(KeyRing.Role.OPERATOR),
        /** The cycle's catalogue is the one it was, though its incarnation has changed. */
        SAME_CATALOGUE(KeyRing.Role.OPERATOR),
        /** The catalogue is whole up to when this was signed; for managers, not for nodes. */
        VOUCH(KeyRing.Role.OPERATOR);

        private final KeyRing.Role role;

        Kind(KeyRing.Role role) {
            this.role = role;
        }

        public KeyRing.Role role() {
            return role;
        }
    }

    public Order {
        boolean aboutOneCycle = kind != Kind.EMPTY && kind != Kind.LOSSES && kind != Kind.VOUCH;
        if (cycle < 0 || (aboutOneCycle && cycle == 0) || count < 0 || !digest.matches("|[0-9a-f]{64}")) {
            throw HoldfastException.misuse(
                    "an order to " + kind + " cycle " + cycle + ", " + count + " pieces, digest '" + digest + "'",
                    "name the cycle, the digest and the number that the node reported");
        }
        if (detail.length() > DETAIL_MAX || !goodUntil.isAfter(issuedAt)) {
            throw HoldfastException.misuse(
                    "an order from " + issuedAt + " to " + goodUntil + " with " + detail.length() + " letters",
                    "let it expire after it was issued, with at most " + DETAIL_MAX + " letters");
        }
        issuedAt = Instant.ofEpochMilli(issuedAt.toEpochMilli());
        goodUntil = Instant.ofEpochMilli(goodUntil.toEpochMilli());
    }

    /** Throws MISUSE unless it is for this node and on time by the node's clock. */
    public void check(NodeId here, Instant now, Duration clockSkew) {
        if (!node.equals(here)) {
            throw refuse("it is for node " + node + ", this is " + here);
        }
        if (issuedAt.isAfter(now.plus(clockSkew)) || now.isAfter(goodUntil)) {
            throw refuse("it is good from " + issuedAt + " to " + goodUntil + ", here it is " + now);
        }
        if (kind == Kind.EMPTY && goodUntil.isAfter(issuedAt.plus(EMPTY_VALID_FOR))) {
            throw refuse("a permit is good for an hour at most");
        }
    }

    private static HoldfastException refuse(String why) {
        return HoldfastException.misuse("the node refuses the order: " + why, "issue a new order");
    }

    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(DOMAIN);
            out.writeUTF(kind.name());
            out.writeUTF(owner.name());
            out.writeUTF(node.name());
            out.writeLong(cycle);
            out.writeUTF(digest);
            out.writeLong(count);
            out.writeLong(issuedAt.toEpochMilli());
            out.writeLong(goodUntil.toEpochMilli());
            out.writeUTF(detail);
            out.writeUTF(keyId);
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory failed", e);
        }
        return bytes.toByteArray();
    }

    /** Reads what {@link #encode} wrote; CORRUPT if it is anything else. */
    public static Order decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (!in.readUTF().equals(DOMAIN)) {
                throw new IOException("it is not '" + DOMAIN + "'");
            }
            Order order = new Order(
                    Kind.valueOf(in.readUTF()),
                    new OwnerId(in.readUTF()),
                    new NodeId(in.readUTF()),
                    in.readLong(),
                    in.readUTF(),
                    in.readLong(),
                    Instant.ofEpochMilli(in.readLong()),
                    Instant.ofEpochMilli(in.readLong()),
                    in.readUTF(),
                    in.readUTF());
            if (in.read() >= 0) {
                throw new IOException("it goes on after its end");
            }
            return order;
        } catch (IOException | HoldfastException | IllegalArgumentException e) {
            throw new HoldfastException(
                    Category.CORRUPT, "not an order: " + e.getMessage(), "drop it; nothing is done by it", e);
        }
    }
}
