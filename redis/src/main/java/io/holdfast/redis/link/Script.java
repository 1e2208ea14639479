package io.holdfast.redis.link;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A Lua script and the contract in its header.
 *
 * <p>A script is a file beside the class that calls it. It begins with {@code #!lua}, says in a sentence what it does,
 * and then what goes in and what comes out:
 *
 * <pre>
 *   #!lua flags=allow-oom
 *   -- Releases the holds of one dead lease, a budget of them at a time.
 *   -- KEYS  meta counts held doomed
 *   -- ARGV  lease budget
 *   -- REPLY status released left
 *   --@include ../lease/time.lua
 * </pre>
 *
 * A word that ends in {@code …} stands for the rest of the keys or arguments, none or more. The Java side declares the
 * same words; {@link #load} compares them, so that a script and its call cannot drift apart: the class that owns the
 * script does not even load. {@code --@include} pastes a file in, for what several scripts share, and what that
 * includes; {@code ../lease/time.lua} is one of the package beside, {@code ../../lease/time.lua} of one beside the
 * parent.
 */
public final class Script {

    private static final Pattern HEADER = Pattern.compile("(?m)^-- (KEYS|ARGV|REPLY) *(.*)$");
    private static final Pattern INCLUDE = Pattern.compile("(?m)^--@include ((?:(?:\\.\\./)+[a-z]+/)?[a-z-]+\\.lua)$");
    private static final String REST = "…";

    private final String name;
    private final List<String> keys;
    private final List<String> arguments;
    private final byte[] source;
    private final byte[] sha;

    private Script(String name, List<String> keys, List<String> arguments, String source) {
        this.name = name;
        this.keys = keys;
        this.arguments = arguments;
        this.source = source.getBytes(StandardCharsets.UTF_8);
        this.sha = sha1(this.source);
    }

    /**
     * Loads {@code file} from beside {@code owner} and compares its header with what the caller thinks it says.
     *
     * @param keys the words of the KEYS line
     * @param arguments the words of the ARGV line
     * @param reply the words of the REPLY line
     */
    public static Script load(Class<?> owner, String file, String keys, String arguments, String reply) {
        String source = read(owner, file);
        compare(file, "KEYS", keys, header(file, source, "KEYS"));
        compare(file, "ARGV", arguments, header(file, source, "ARGV"));
        compare(file, "REPLY", reply, header(file, source, "REPLY"));
        return new Script(file, words(keys), words(arguments), withIncludes(owner, source));
    }

    /** What is pasted in may paste in more, relative to the owner as well. */
    private static String withIncludes(Class<?> owner, String source) {
        return INCLUDE.matcher(source)
                .replaceAll(match -> Matcher.quoteReplacement(withIncludes(owner, read(owner, match.group(1)))));
    }

    public String name() {
        return name;
    }

    /** The names of its keys, in order. */
    public List<String> keys() {
        return keys;
    }

    public byte[] source() {
        return source.clone();
    }

    byte[] sha() {
        return sha;
    }

    /** How many bytes a call of it with these keys and arguments is on its way to the server. */
    public long sentBytes(List<byte[]> keys, List<byte[]> arguments) {
        List<byte[]> words = new ArrayList<>(List.of(
                "EVALSHA".getBytes(StandardCharsets.US_ASCII),
                sha,
                String.valueOf(keys.size()).getBytes(StandardCharsets.US_ASCII)));
        words.addAll(keys);
        words.addAll(arguments);
        long bytes = frame(words.size());
        for (byte[] word : words) {
            bytes += frame(word.length) + word.length + 2;
        }
        return bytes;
    }

    /** A sign, a number and an end of line. */
    private static int frame(int number) {
        return 1 + String.valueOf(number).length() + 2;
    }

    /** Refuses a call whose number of keys or arguments the header does not allow. */
    void check(int keyCount, int argumentCount) {
        if (!allows(keys, keyCount) || !allows(arguments, argumentCount)) {
            throw new IllegalArgumentException(name + " takes keys " + keys + " and arguments " + arguments + ", not "
                    + keyCount + " and " + argumentCount);
        }
    }

    private static boolean allows(List<String> words, int count) {
        boolean rest = !words.isEmpty() && words.getLast().endsWith(REST);
        return rest ? count >= words.size() - 1 : count == words.size();
    }

    private static String header(String file, String source, String line) {
        if (!source.startsWith("#!lua")) {
            throw new IllegalStateException(file + " does not begin with #!lua");
        }
        Matcher matcher = HEADER.matcher(source);
        List<String> found = new ArrayList<>();
        while (matcher.find()) {
            if (matcher.group(1).equals(line)) {
                found.add(matcher.group(2).strip());
            }
        }
        if (found.isEmpty()) {
            throw new IllegalStateException(file + " has no line '-- " + line + "' in its header");
        }
        return String.join(" ", found);
    }

    private static void compare(String file, String line, String inJava, String inScript) {
        if (!words(inJava).equals(words(inScript))) {
            throw new IllegalStateException(
                    file + ": the header says " + line + " " + inScript + ", the Java call says " + inJava);
        }
    }

    private static List<String> words(String line) {
        return line.isBlank() ? List.of() : Arrays.asList(line.strip().split("\\s+"));
    }

    private static String read(Class<?> owner, String file) {
        String folder = '/' + owner.getPackageName().replace('.', '/');
        String name = file;
        while (name.startsWith("../")) {
            folder = folder.substring(0, folder.lastIndexOf('/'));
            name = name.substring(3);
        }
        String path = folder + '/' + name;
        try (InputStream in = owner.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("no script " + file + " beside " + owner.getName());
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException("cannot read script " + file, e);
        }
    }

    private static byte[] sha1(byte[] source) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(source);
            return HexFormat.of().formatHex(digest).getBytes(StandardCharsets.US_ASCII);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-1", e);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
