package io.holdfast.sweep.node;

import io.holdfast.HoldfastException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/** Bytes on their way in, kept in a file that goes with its closing. */
public final class Incoming implements AutoCloseable {

    private static final String PREFIX = "incoming-";

    private final FileChannel channel;
    private final long bytesMax;
    private final String what;
    private final String setting;
    private long bytes;

    Incoming(Path folder, long bytesMax, String what, String setting) throws IOException {
        this.bytesMax = bytesMax;
        this.what = what;
        this.setting = setting;
        this.channel = FileChannel.open(
                folder.resolve(PREFIX + UUID.randomUUID()),
                StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.DELETE_ON_CLOSE);
    }

    static void clean(Path folder) throws IOException {
        try (DirectoryStream<Path> left = Files.newDirectoryStream(folder, PREFIX + "*")) {
            for (Path path : left) {
                Files.deleteIfExists(path);
            }
        }
    }

    public void add(ByteBuffer chunk) throws IOException {
        bytes += chunk.remaining();
        if (bytes > bytesMax) {
            throw HoldfastException.misuse(what + " of more than " + bytesMax + " bytes", "set " + setting + " higher");
        }
        while (chunk.hasRemaining()) {
            channel.write(chunk);
        }
    }

    /** Everything that came, from its beginning. */
    public InputStream read() throws IOException {
        channel.position(0);
        return new BufferedInputStream(Channels.newInputStream(channel), 1 << 16);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
