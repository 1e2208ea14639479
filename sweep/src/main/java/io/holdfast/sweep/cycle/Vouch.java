package io.holdfast.sweep.cycle;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Order;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;

/**
 * An operator's signed word that a catalogue is whole up to a moment, though nothing was added to it for long: that it is idle,
 * and no replica that lags. It is kept in a file of three lines and good for a day.
 *
 * @param upTo when it was signed
 */
public record Vouch(OwnerId owner, Instant upTo) {

    public static final Duration VALID_FOR = Duration.ofDays(1);

    private static final String HEAD = "holdfast-vouch 1";
    private static final NodeId CATALOGUE = new NodeId("catalogue");

    /** Signs it as of now. */
    public static void write(Path file, OwnerId owner, SigningKey key, Instant now) throws IOException {
        Order order =
                new Order(Order.Kind.VOUCH, owner, CATALOGUE, 0, "", 0, now, now.plus(VALID_FOR), "operator", key.id());
        Signed signed = key.sign(order.encode());
        Base64.Encoder text = Base64.getEncoder();
        Files.write(
                file,
                List.of(HEAD, text.encodeToString(signed.text()), text.encodeToString(signed.signature())),
                StandardCharsets.US_ASCII);
    }

    /** Throws unless a key of an operator signed it for this owner, within the last day. */
    public static Vouch read(Path file, OwnerId owner, KeyRing ring, Instant now, Duration clockSkew)
            throws IOException {
        Signed signed = signed(file);
        Order order = Order.decode(signed.text());
        if (order.kind() != Order.Kind.VOUCH) {
            throw HoldfastException.misuse(file + " is an order to " + order.kind(), "sign one: holdfast sweep vouch");
        }
        ring.verify(signed, order.keyId(), order.kind().role(), now);
        order.check(CATALOGUE, now, clockSkew);
        if (!order.owner().equals(owner)) {
            throw HoldfastException.misuse(
                    file + " vouches for the catalogue of " + order.owner() + ", and not of " + owner,
                    "sign one: holdfast sweep vouch");
        }
        return new Vouch(owner, order.issuedAt());
    }

    private static Signed signed(Path file) throws IOException {
        try {
            List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
            if (lines.size() == 3 && lines.getFirst().equals(HEAD)) {
                Base64.Decoder text = Base64.getDecoder();
                return new Signed(text.decode(lines.get(1)), text.decode(lines.get(2)));
            }
        } catch (NoSuchFileException e) {
            throw new HoldfastException(Category.GONE, "there is no file " + file, "sign one: holdfast sweep vouch", e);
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw HoldfastException.misuse(file + " is no signed word of an operator", "sign one: holdfast sweep vouch");
    }
}
