package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.testkit.RedisServer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/** The append-only file of a server: what it wrote, command by command, to be done again on another server. */
final class ServerLog {

    private final Path file;

    ServerLog(RedisServer server) {
        this.file = server.folder().resolve("appendonlydir").resolve("appendonly.aof.1.incr.aof");
    }

    long size() {
        try {
            return Files.size(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** The commands between two sizes. */
    List<byte[][]> commands(long from, long to) {
        ByteBuffer in;
        try {
            in = ByteBuffer.wrap(Files.readAllBytes(file)).slice((int) from, (int) (to - from));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        List<byte[][]> commands = new ArrayList<>();
        while (in.hasRemaining()) {
            byte[][] command = new byte[number(in, '*')][];
            for (int i = 0; i < command.length; i++) {
                command[i] = new byte[number(in, '$')];
                in.get(command[i]);
                in.getShort();
            }
            commands.add(command);
        }
        return commands;
    }

    private static int number(ByteBuffer in, char sign) {
        if (in.get() != sign) {
            throw new AssertionError("not a command at " + in.position());
        }
        int number = 0;
        for (byte digit = in.get(); digit != '\r'; digit = in.get()) {
            number = 10 * number + digit - '0';
        }
        in.get();
        return number;
    }

    static boolean is(byte[][] command, String name) {
        return new String(command[0], US_ASCII).equalsIgnoreCase(name);
    }

    /** Does the commands, those between MULTI and EXEC like all others. */
    static void replay(Jedis redis, List<byte[][]> commands) {
        try (Pipeline pipeline = redis.pipelined()) {
            for (byte[][] command : commands) {
                if (!is(command, "MULTI") && !is(command, "EXEC")) {
                    byte[][] arguments = new byte[command.length - 1][];
                    System.arraycopy(command, 1, arguments, 0, arguments.length);
                    pipeline.sendCommand(() -> command[0], arguments);
                }
            }
            pipeline.sync();
        }
    }
}
