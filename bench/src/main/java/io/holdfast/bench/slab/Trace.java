package io.holdfast.bench.slab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;

/** Requests with sizes. A replay gets each key, and puts a value of its size on a miss. */
@SuppressWarnings("ArrayRecordComponent") // nobody compares traces
record Trace(String name, int[] keys, int[] sizes) {

    /** Lines of {@code time key size}, gzipped or not; keys may be any words. */
    static Trace read(Path file) throws IOException {
        IntStream.Builder keys = IntStream.builder();
        IntStream.Builder sizes = IntStream.builder();
        Map<String, Integer> numbers = new HashMap<>();
        String name = String.valueOf(file.getFileName());
        try (InputStream raw = Files.newInputStream(file);
                InputStream in = name.endsWith(".gz") ? new GZIPInputStream(raw) : raw;
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            String line;
            while ((line = lines.readLine()) != null) {
                String[] words = line.strip().split("[\\s,]+", -1);
                if (words.length >= 3) {
                    keys.add(numbers.computeIfAbsent(words[1], word -> numbers.size()));
                    sizes.add((int) Math.min(Integer.MAX_VALUE, Long.parseLong(words[2])));
                }
            }
        }
        return new Trace(
                name.replaceAll("\\..*", ""),
                keys.build().toArray(),
                sizes.build().toArray());
    }

    /** Where no trace is given: popularity by Zipf's law that drifts, log-normal sizes, a scan now and then. */
    static Trace synthetic(int requests) {
        int objects = 100_000;
        Workload popularity = new Workload(objects, 11);
        int[] keys = new int[requests];
        int[] sizes = new int[requests];
        for (int i = 0; i < requests; i++) {
            boolean scan = i % 60_000 < 6_000;
            keys[i] = scan ? 1_000_000 + i : (popularity.next() + i / 100_000 * 37_000) % objects;
            double normal = new java.util.Random(keys[i] * 31L).nextGaussian();
            sizes[i] = (int) Math.clamp(Math.exp(7.8 + 1.5 * normal), 20, 400_000);
        }
        return new Trace("synthetic", keys, sizes);
    }

    double replay(CachePeer cache) {
        int hits = 0;
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < keys.length; i++) {
            if (cache.get(keys[i]) != null) {
                hits++;
            } else {
                byte[] value = new byte[sizes[i]];
                if (value.length > 8) {
                    value[random.nextInt(value.length)] = 1;
                }
                cache.put(keys[i], value);
            }
        }
        return (double) hits / keys.length;
    }

    /** What a least-recently-used cache would hit that spends every byte on values, and none on anything else. */
    double byteLru(long bytes) {
        LinkedHashMap<Integer, Integer> held = new LinkedHashMap<>(16, 0.75f, true);
        long used = 0;
        int hits = 0;
        for (int i = 0; i < keys.length; i++) {
            if (held.get(keys[i]) != null) {
                hits++;
                continue;
            }
            if (sizes[i] > bytes) {
                continue;
            }
            held.put(keys[i], sizes[i]);
            used += sizes[i];
            Iterator<Integer> oldest = held.values().iterator();
            while (used > bytes) {
                used -= oldest.next();
                oldest.remove();
            }
        }
        return (double) hits / keys.length;
    }
}
