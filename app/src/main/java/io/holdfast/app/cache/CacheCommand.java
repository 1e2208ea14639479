package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.SlabCache;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import picocli.CommandLine.Parameters;

/** A command about one cache that exists; it is opened as it is. */
abstract class CacheCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "FILE", description = "The cache, with or without its '.slab1'.")
    private Path file = Path.of("");

    @Override
    protected Answer run(Console console) throws Exception {
        try (SlabCache cache = open(file)) {
            return run(cache, console);
        }
    }

    SlabCache open(Path path) {
        return SlabCache.attach(path);
    }

    abstract Answer run(SlabCache cache, Console console) throws Exception;

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Text as it is, other bytes as hexadecimal. */
    static String readable(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        boolean plain =
                text.chars().noneMatch(c -> c == '\ufffd' || (Character.isISOControl(c) && c != '\n' && c != '\t'));
        return plain ? text : "0x" + java.util.HexFormat.of().formatHex(bytes);
    }
}
