package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import picocli.CommandLine.Parameters;

/** A command about one cache that exists. */
abstract class CacheCommand extends CliCommand {

    @Parameters(index = "0", paramLabel = "FILE", description = "The cache, with or without its '.slab3'.")
    private Path file = Path.of("");

    @Override
    protected final Answer run(Console console) throws Exception {
        return run(file, console);
    }

    abstract Answer run(Path path, Console console) throws Exception;

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
