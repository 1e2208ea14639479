package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text form of a catalogue.
 *
 * <pre>
 *   #holdfast-catalogue 1 owner=photos taken=2026-05-01T00:00:00Z incarnation=db7 ids=hex
 *   node-1,00ff…,1777593600000          node, id, creation time (milliseconds of the epoch)
 *   …
 *   #end 2 9f86d081…                    rows, SHA-256 over every byte before this line
 * </pre>
 */
public final class CsvFile {

    private static final Pattern HEAD = Pattern.compile(
            "#holdfast-catalogue 1 owner=(\\S+) taken=(\\S+) incarnation=(\\S+) ids=(hex|base32|uuid|text)");
    private static final Pattern END = Pattern.compile("#end (\\d{1,18}) ([0-9a-f]{64})\n?");
    private static final int HEAD_MAX = 1024;
    private static final int END_MAX = 128;
    private static final int LINE_MAX = 512;
    private static final int RANGE_BYTES_LEAST = 1 << 20;

    private CsvFile() {}

    /** Begins an export. */
    public static FileCatalogue.Writer write(Path path, FileCatalogue.Head head, IdForm form) throws IOException {
        if (form == IdForm.BYTES) {
            throw HoldfastException.misuse("raw bytes as text", "use hex, base32, uuid or text");
        }
        return new TextWriter(new BufferedOutputStream(Files.newOutputStream(path), 1 << 16), head, form);
    }

    private static final class TextWriter implements FileCatalogue.Writer {
        private final DigestOutputStream out;
        private final IdForm form;
        private long rows;
        private boolean closed;

        TextWriter(OutputStream out, FileCatalogue.Head head, IdForm form) throws IOException {
            this.out = FileCatalogue.digesting(out);
            this.form = form;
            line("#holdfast-catalogue 1 owner=" + head.owner() + " taken=" + head.takenAt() + " incarnation="
                    + head.incarnation() + " ids=" + form.name().toLowerCase(Locale.ROOT));
        }

        @Override
        public void piece(NodeId node, byte[] id, long createdMillis) throws IOException {
            String text = form.encode(id);
            if (text.indexOf(',') >= 0 || text.indexOf('\n') >= 0) {
                throw HoldfastException.misuse("the id '" + text + "' has a comma or a line end", "export it as hex");
            }
            line(node + "," + text + "," + createdMillis);
            rows++;
        }

        private void line(String text) throws IOException {
            out.write((text + "\n").getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                closed = true;
                line("#end " + rows + " "
                        + HexFormat.of().formatHex(out.getMessageDigest().digest()));
                out.close();
            }
        }
    }

    static FileCatalogue.Format open(FileChannel channel, long length) throws IOException {
        String start = text(channel, 0, (int) Math.min(HEAD_MAX, length));
        Matcher head = HEAD.matcher(start.substring(0, Math.max(0, start.indexOf('\n'))));
        if (!head.matches()) {
            throw FileCatalogue.corrupt("it does not begin with '#holdfast-catalogue 1 owner=… taken=… incarnation=…"
                    + " ids=hex|base32|uuid|text'");
        }
        int tail = (int) Math.min(END_MAX, length);
        String last = text(channel, length - tail, tail);
        int mark = last.lastIndexOf("\n#end ");
        Matcher end = END.matcher(mark < 0 ? "" : last.substring(mark + 1));
        if (!end.matches()) {
            throw FileCatalogue.corrupt("it does not end with '#end ROWS SHA-256': the export was not finished");
        }
        long bodyEnd = length - (last.length() - mark - 1);
        byte[] expected = HexFormat.of().parseHex(end.group(2));
        if (!MessageDigest.isEqual(expected, FileCatalogue.digest(channel, bodyEnd))) {
            throw FileCatalogue.corrupt("its content does not match its digest");
        }
        try {
            FileCatalogue.Head said =
                    new FileCatalogue.Head(new OwnerId(head.group(1)), Instant.parse(head.group(2)), head.group(3));
            IdForm form = IdForm.valueOf(head.group(4).toUpperCase(Locale.ROOT));
            return new Text(said, form, Long.parseLong(end.group(1)), start.indexOf('\n') + 1L, bodyEnd);
        } catch (DateTimeException | HoldfastException e) {
            throw FileCatalogue.corrupt("its head says nonsense: " + e.getMessage());
        }
    }

    private static String text(FileChannel channel, long at, int length) throws IOException {
        byte[] bytes = new byte[length];
        FileCatalogue.readFully(channel, at, ByteBuffer.wrap(bytes));
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private record Text(FileCatalogue.Head head, IdForm form, long rows, long from, long to)
            implements FileCatalogue.Format {

        @Override
        public int ranges(int wanted) {
            return (int) Math.max(1, Math.min(wanted, (to - from) / RANGE_BYTES_LEAST));
        }

        /** A range owns the lines that begin in it; the last line may reach into the next range. */
        @Override
        public void scan(FileChannel channel, int range, int ranges, Catalogue.PieceSink sink) throws Exception {
            long start = from + (to - from) * range / ranges;
            long end = from + (to - from) * (range + 1) / ranges;
            Lines lines = new Lines(channel, start == from ? start : start - 1, to);
            if (start != from) {
                lines.next();
            }
            JdbcCatalogue.NodeNames names = new JdbcCatalogue.NodeNames();
            while (lines.position() < end && lines.next()) {
                row(lines.line(), names, sink);
            }
        }

        private void row(String line, JdbcCatalogue.NodeNames names, Catalogue.PieceSink sink) throws Exception {
            int first = line.indexOf(',');
            int second = line.indexOf(',', first + 1);
            if (first < 1 || second < 0) {
                throw FileCatalogue.corrupt("'" + line + "' is not node,id,created");
            }
            long created;
            try {
                created = Long.parseLong(line, second + 1, line.length(), 10);
            } catch (NumberFormatException e) {
                throw FileCatalogue.corrupt("'" + line + "' has no creation time in milliseconds");
            }
            sink.piece(names.of(line.substring(0, first)), form.decode(line.substring(first + 1, second)), created);
        }
    }

    /** Lines of a part of a file. */
    private static final class Lines {
        private final FileChannel channel;
        private final long end;
        private final ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        private final byte[] line = new byte[LINE_MAX];
        private int length;
        private long read;

        Lines(FileChannel channel, long start, long end) {
            this.channel = channel;
            this.end = end;
            this.read = start;
            buffer.limit(0);
        }

        /** Where the next line begins. */
        long position() {
            return read - buffer.remaining();
        }

        boolean next() throws IOException {
            length = 0;
            while (true) {
                if (!buffer.hasRemaining()) {
                    if (read == end) {
                        if (length > 0) {
                            throw FileCatalogue.corrupt("its last row does not end");
                        }
                        return false;
                    }
                    buffer.clear().limit((int) Math.min(buffer.capacity(), end - read));
                    FileCatalogue.readFully(channel, read, buffer);
                    read += buffer.flip().remaining();
                }
                byte b = buffer.get();
                if (b == '\n') {
                    return true;
                }
                if (length == LINE_MAX) {
                    throw FileCatalogue.corrupt("a row is longer than " + LINE_MAX + " bytes");
                }
                line[length++] = b;
            }
        }

        String line() {
            return new String(line, 0, length, StandardCharsets.UTF_8);
        }
    }
}
