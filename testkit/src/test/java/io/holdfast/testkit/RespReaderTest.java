package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RespReaderTest {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 7, 1000})
    void requestsAreFoundHoweverTheStreamIsCut(int pieceSize) {
        String stream = "*3\r\n$3\r\nSET\r\n$4\r\nheld\r\n$5\r\n\r\n*1$\r\n" // a value that looks like the protocol
                + "PING\r\n"
                + "*1\r\n$4\r\nPING\r\n"
                + "get held\r\n"
                + "*2\r\n$7\r\nevalsha\r\n$0\r\n\r\n";

        assertThat(names(stream, pieceSize)).containsExactly("SET", "PING", "PING", "get", "evalsha");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 7, 1000})
    void repliesAreFoundHoweverTheStreamIsCut(int pieceSize) {
        List<String> replies = List.of(
                "+OK\r\n",
                "-ERR no\r\n",
                ":42\r\n",
                "$5\r\n+OK\r\n\r\n",
                "$0\r\n\r\n",
                "$-1\r\n",
                "*-1\r\n",
                "*0\r\n",
                "*2\r\n*1\r\n:1\r\n$1\r\na\r\n",
                "%2\r\n+a\r\n*0\r\n+b\r\n%0\r\n",
                "~1\r\n#t\r\n",
                "_\r\n",
                ",1.5\r\n",
                "(123456789012345678901234567890\r\n",
                "=5\r\ntxt:a\r\n",
                "!5\r\nERR a\r\n",
                ">2\r\n+message\r\n+a\r\n",
                "|1\r\n+ttl\r\n:5\r\n$1\r\na\r\n",
                "*1\r\n|1\r\n+ttl\r\n:5\r\n:1\r\n");

        assertThat(messages(String.join("", replies), pieceSize)).isEqualTo(replies);
    }

    @Test
    void whatIsNotRedisIsLeftAlone() {
        var reader = new RespReader(false);
        byte[] bytes = "HTTP/1.1 200 OK\r\n\r\n+OK\r\n".getBytes(StandardCharsets.US_ASCII);
        reader.next(bytes, 0, bytes.length);

        assertThat(reader.next(bytes, reader.position(), bytes.length)).isEqualTo(RespReader.Event.OPAQUE);
        assertThat(reader.next(bytes, reader.position(), bytes.length)).isEqualTo(RespReader.Event.OPAQUE);
    }

    private static List<String> names(String stream, int pieceSize) {
        var reader = new RespReader(true);
        List<String> names = new ArrayList<>();
        int ends = 0;
        for (byte[] piece : pieces(stream, pieceSize)) {
            int at = 0;
            RespReader.Event event;
            do {
                event = reader.next(piece, at, piece.length);
                at = reader.position();
                if (event == RespReader.Event.NAME) {
                    names.add(reader.name());
                } else if (event == RespReader.Event.END) {
                    ends++;
                }
            } while (event != RespReader.Event.MORE && event != RespReader.Event.OPAQUE);
        }
        assertThat(ends).isEqualTo(names.size());
        return names;
    }

    private static List<String> messages(String stream, int pieceSize) {
        var reader = new RespReader(false);
        List<String> messages = new ArrayList<>();
        int start = 0;
        int before = 0;
        for (byte[] piece : pieces(stream, pieceSize)) {
            int at = 0;
            RespReader.Event event;
            do {
                event = reader.next(piece, at, piece.length);
                at = reader.position();
                if (event == RespReader.Event.START) {
                    start = before + at;
                } else if (event == RespReader.Event.END) {
                    messages.add(stream.substring(start, before + at));
                }
            } while (event != RespReader.Event.MORE && event != RespReader.Event.OPAQUE);
            before += piece.length;
        }
        return messages;
    }

    private static List<byte[]> pieces(String stream, int size) {
        byte[] bytes = stream.getBytes(StandardCharsets.US_ASCII);
        List<byte[]> pieces = new ArrayList<>();
        for (int from = 0; from < bytes.length; from += size) {
            pieces.add(Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + size)));
        }
        return pieces;
    }
}
