package io.holdfast.embedded;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A server that was started by {@link ServerLaunch}; it ends with this process at the latest. */
public final class ServerProcess implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    // Signalled by its handle only: Process.destroy would also close the pipe, and the guard think that we are gone.
    private final Process process;
    private final int port;
    private final Path log;
    private final boolean dataKept;
    private final @Nullable Path scratch;

    ServerProcess(Process process, int port, Path log, boolean dataKept, @Nullable Path scratch) {
        this.process = process;
        this.port = port;
        this.log = log;
        this.dataKept = dataKept;
        this.scratch = scratch;
    }

    /** The port on 127.0.0.1. */
    public int port() {
        return port;
    }

    /** The server's own process id, not that of a shell around it. */
    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** What the server wrote so far. */
    public String log() {
        try {
            return Files.readString(log, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            return ""; // gone with the server's folder
        } catch (IOException e) {
            return "its log cannot be read: " + e;
        }
    }

    /** Ends the server at once, as {@code kill -9} does, and returns when it is gone. */
    public void kill() {
        process.toHandle().destroyForcibly();
        awaitGone();
    }

    /** Asks the server to write down what it holds and end; if it does not, it is killed. */
    public void stop() {
        process.toHandle().destroy();
        if (!awaitEnd(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
            kill();
        }
    }

    /** Stops the server in the way that suits it: with care if its data is kept, and with its folder if it is not. */
    @Override
    public void close() {
        if (dataKept) {
            stop();
        } else {
            kill();
        }
        if (scratch != null) {
            ScratchFolder.remove(scratch);
        }
    }

    boolean awaitEnd(long time, TimeUnit unit) {
        try {
            return process.waitFor(time, unit);
        } catch (InterruptedException e) {
            process.toHandle().destroyForcibly();
            Thread.currentThread().interrupt();
            throw new HoldfastException(
                    Category.RETRY, "interrupted while the embedded Redis server started or ended", e);
        }
    }

    /** Whether an answer to PING comes; a refusal for want of a password is one too. */
    boolean answers(Duration within) {
        int millis = (int) within.toMillis();
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port), millis);
            socket.setSoTimeout(millis);
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            byte[] reply = socket.getInputStream().readNBytes(4);
            String start = new String(reply, StandardCharsets.US_ASCII);
            return !start.isEmpty() && !start.equals("-LOA");
        } catch (IOException e) {
            return false;
        }
    }

    private void awaitGone() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    process.waitFor();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
