package io.holdfast.bench.slab;

import io.holdfast.HoldfastException;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;

/**
 * Reads request traces as people keep them, gzipped or not.
 *
 * <pre>
 *   key size                       words between blanks, tabs, commas or semicolons; keys may be any words
 *   time key size [...]            three columns or more; further ones are left alone
 *   a first line that names them   columns in any order: key, id or object; size or length, of the value
 *   oracleGeneral                  24 bytes a request: time (4), key (8), size (4), next use (8), little-endian
 * </pre>
 *
 * Lines that are empty or begin with # are passed over; any other line that does not fit is refused by its number.
 */
final class TraceReader {

    /** More are left alone: a run must end. */
    static final int REQUESTS_MOST = 2_000_000;

    private static final int RECORD_BYTES = 24;
    private static final List<String> KEY_NAMES =
            List.of("key", "id", "object", "obj_id", "object_id", "anonymized_key");
    private static final List<String> SIZE_NAMES =
            List.of("size", "obj_size", "object_size", "value_size", "length", "bytes");

    private final Path file;
    private final IntStream.Builder keys = IntStream.builder();
    private final IntStream.Builder sizes = IntStream.builder();
    private final Map<String, Integer> numbers = new HashMap<>();
    private int requests;

    private TraceReader(Path file) {
        this.file = file;
    }

    static Trace read(Path file) throws IOException {
        return new TraceReader(file).read();
    }

    private Trace read() throws IOException {
        String name = String.valueOf(file.getFileName());
        if (!Files.isReadable(file) || Files.isDirectory(file)) {
            throw HoldfastException.misuse("there is no trace " + file + " to read", "check the path");
        }
        if (name.endsWith(".zst") || name.endsWith(".xz") || name.endsWith(".bz2")) {
            throw refused("it is compressed in a way that is not read here", "decompress it, or compress it with gzip");
        }
        try (InputStream raw = new BufferedInputStream(Files.newInputStream(file));
                InputStream in = new BufferedInputStream(isGzip(raw) ? new GZIPInputStream(raw) : raw)) {
            if (isBinary(in)) {
                readRecords(in);
            } else {
                readLines(new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)));
            }
        } catch (EOFException e) {
            throw refused("it ends in the middle", "get it again");
        }
        if (requests == 0) {
            throw refused("there is no request in it", "check the file");
        }
        return new Trace(
                name.replaceAll("\\..*", ""),
                keys.build().toArray(),
                sizes.build().toArray());
    }

    private static boolean isGzip(InputStream in) throws IOException {
        in.mark(2);
        boolean gzip = in.read() == 0x1f && in.read() == 0x8b;
        in.reset();
        return gzip;
    }

    /** Text has no zeros; binary records have them in nearly every number. */
    private static boolean isBinary(InputStream in) throws IOException {
        in.mark(4_096);
        byte[] start = in.readNBytes(4_096);
        in.reset();
        for (byte b : start) {
            if (b == 0) {
                return true;
            }
        }
        return false;
    }

    private void add(String key, long size) {
        keys.add(numbers.computeIfAbsent(key, word -> numbers.size()));
        sizes.add((int) Math.min(Integer.MAX_VALUE, size));
        requests++;
    }

    private void readRecords(InputStream in) throws IOException {
        byte[] record = new byte[RECORD_BYTES];
        ByteBuffer fields = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        int before = 0;
        int read;
        while (requests < REQUESTS_MOST && (read = in.readNBytes(record, 0, RECORD_BYTES)) > 0) {
            int time = fields.getInt(0);
            if (read < RECORD_BYTES || Integer.compareUnsigned(time, before) < 0) {
                throw refused(
                        "it is binary and not a row of oracleGeneral records: request " + (requests + 1) + " is wrong",
                        "give it as text, time key size");
            }
            before = time;
            add(Long.toHexString(fields.getLong(4)), fields.getInt(12) & 0xffffffffL);
        }
    }

    private void readLines(BufferedReader lines) throws IOException {
        int keyColumn = -1;
        int sizeColumn = -1;
        String line;
        for (int number = 1; requests < REQUESTS_MOST && (line = lines.readLine()) != null; number++) {
            String text = line.strip();
            if (text.isEmpty() || text.startsWith("#")) {
                continue;
            }
            String[] words = text.split("\\s*[,;]\\s*|\\s+", -1);
            if (keyColumn < 0) {
                List<String> names = Arrays.asList(text.toLowerCase(Locale.ROOT).split("\\s*[,;]\\s*|\\s+", -1));
                int namedKey = column(names, KEY_NAMES);
                int namedSize = column(names, SIZE_NAMES);
                if (namedKey >= 0 && namedSize >= 0) {
                    keyColumn = namedKey;
                    sizeColumn = namedSize;
                    continue;
                }
                keyColumn = words.length == 2 ? 0 : 1;
                sizeColumn = keyColumn + 1;
            }
            if (words.length <= Math.max(keyColumn, sizeColumn)) {
                throw refused(
                        "line " + number + " has " + words.length + " columns: '" + shortened(text) + "'",
                        "give 'key size' or 'time key size', or name the columns in the first line");
            }
            add(words[keyColumn], size(words[sizeColumn], number));
        }
    }

    private static int column(List<String> names, List<String> wanted) {
        for (String name : wanted) {
            if (names.contains(name)) {
                return names.indexOf(name);
            }
        }
        return -1;
    }

    private long size(String word, int number) {
        try {
            long size = Long.parseLong(word);
            if (size >= 0) {
                return size;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw refused(
                "line " + number + " has '" + shortened(word) + "' where a size should be",
                "give sizes in bytes, 0 or more");
    }

    private static String shortened(String text) {
        return text.length() > 60 ? text.substring(0, 60) + "..." : text;
    }

    private HoldfastException refused(String why, String action) {
        return HoldfastException.misuse("cannot read the trace " + file + ": " + why, action);
    }
}
