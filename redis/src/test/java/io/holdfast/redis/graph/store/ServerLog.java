package io.holdfast.redis.graph.store;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.testkit.RedisServer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/** The append-only file of a server: what it wrote, command by command, to be done again on another server. */
public final class ServerLog {

    private final Path file;

    public ServerLog(RedisServer server) {
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

    /**
     * Cuts the file in the middle of a write of the last script.
     *
     * @param write counted from 1; the last one, if the script made fewer
     * @return how many writes the script made
     */
    public int cutLastScript(int write) {
        List<byte[][]> all = commands(0, size());
        List<Long> ends = new ArrayList<>();
        int multi = -1;
        int exec = -1;
        long end = 0;
        for (int i = 0; i < all.size(); i++) {
            end += length(all.get(i));
            ends.add(end);
            multi = is(all.get(i), "MULTI") ? i : multi;
            exec = is(all.get(i), "EXEC") ? i : exec;
        }
        int writes = exec - multi - 1;
        long kept = ends.get(multi + Math.min(write, writes)) - 2;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(kept);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return writes;
    }

    private static long length(byte[][] command) {
        long length = 3L + String.valueOf(command.length).length();
        for (byte[] word : command) {
            length += 5L + String.valueOf(word.length).length() + word.length;
        }
        return length;
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
