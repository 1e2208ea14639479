package io.holdfast.sweep.retain;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A worker's proof that it is there and who it is, signed with its own key over a number that the manager has just drawn and
 * over the worker's own address. With the address in it, a stolen host cannot pass on the challenge to another worker and
 * appear twice.
 */
public record WorkerProof(byte[] nonce, String address, String keyId) {

    public static final int NONCE_BYTES = 32;

    private static final String DOMAIN = "holdfast worker 1";
    private static final int ADDRESS_MAX = 256;

    public WorkerProof {
        if (nonce.length != NONCE_BYTES || address.length() > ADDRESS_MAX) {
            throw HoldfastException.misuse(
                    "a proof over " + nonce.length + " bytes and an address of " + address.length() + " letters",
                    "draw " + NONCE_BYTES + " bytes, and write host:port");
        }
        SigningKey.checkId(keyId);
    }

    /** Whether it is about this challenge and this address. */
    public boolean fits(byte[] challenge, String dialled) {
        return Arrays.equals(nonce, challenge) && address.equals(dialled);
    }

    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(DOMAIN);
            out.write(nonce);
            out.writeUTF(address);
            out.writeUTF(keyId);
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory failed", e);
        }
        return bytes.toByteArray();
    }

    /** Reads what {@link #encode} wrote; CORRUPT if it is anything else. */
    public static WorkerProof decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (!in.readUTF().equals(DOMAIN)) {
                throw new IOException("it is not '" + DOMAIN + "'");
            }
            WorkerProof proof = new WorkerProof(in.readNBytes(NONCE_BYTES), in.readUTF(), in.readUTF());
            if (in.read() >= 0) {
                throw new IOException("it goes on after its end");
            }
            return proof;
        } catch (IOException | HoldfastException e) {
            throw new HoldfastException(
                    Category.CORRUPT, "not a worker's proof: " + e.getMessage(), "see which software answers there", e);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof WorkerProof that
                && Arrays.equals(nonce, that.nonce)
                && address.equals(that.address)
                && keyId.equals(that.keyId);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(nonce);
    }

    @Override
    public String toString() {
        return "WorkerProof[" + keyId + " at " + address + ", " + HexFormat.of().formatHex(nonce, 0, 4) + "…]";
    }
}
