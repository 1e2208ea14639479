package io.holdfast.app.wiring;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.sweep.catalogue.IdForm;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.util.Arrays;
import java.util.List;

/**
 * The form of a value that names pieces, for whoever has no form of his own:
 *
 * <pre>
 *   holdfast-pieces 1
 *   n1 00b1c4…        node, a blank, the id in lower-case hexadecimal digits
 *   n2 93aa07…
 * </pre>
 *
 * Other values name none. One that begins like this and goes on in a way that this version does not know is refused, and
 * with it the scan.
 */
public final class PieceLeaf {

    private static final byte[] MARKER = "holdfast-pieces ".getBytes(US_ASCII);
    private static final String FIRST_LINE = "holdfast-pieces 1";

    /** A piece, and where it is. */
    public record Piece(NodeId node, PieceId id) {}

    private PieceLeaf() {}

    public static byte[] of(List<Piece> pieces) {
        StringBuilder text = new StringBuilder(FIRST_LINE).append('\n');
        for (Piece piece : pieces) {
            text.append(piece.node()).append(' ');
            text.append(IdForm.HEX.encode(piece.id().bytes())).append('\n');
        }
        return text.toString().getBytes(US_ASCII);
    }

    /** Reads this form. */
    public static PieceNames names() {
        return PieceLeaf::read;
    }

    private static void read(ValueId id, byte[] value, PieceNames.Taker taker) throws Exception {
        if (value.length < MARKER.length || !Arrays.equals(value, 0, MARKER.length, MARKER, 0, MARKER.length)) {
            return;
        }
        String text = new String(value, US_ASCII);
        String[] lines = text.split("\n", -1);
        if (!lines[0].equals(FIRST_LINE) || !text.endsWith("\n")) {
            throw unreadable(id, lines[0]);
        }
        for (String line : Arrays.asList(lines).subList(1, lines.length - 1)) {
            int blank = line.indexOf(' ');
            if (blank < 1) {
                throw unreadable(id, line);
            }
            taker.piece(new NodeId(line.substring(0, blank)), PieceId.of(IdForm.HEX.decode(line.substring(blank + 1))));
        }
    }

    private static HoldfastException unreadable(ValueId id, String line) {
        return new HoldfastException(
                Category.CORRUPT,
                "value " + id + " names pieces in a way that is not known: '" + line + "'",
                "use the version of Holdfast that wrote it, or put it anew; nothing was trashed",
                null);
    }
}
