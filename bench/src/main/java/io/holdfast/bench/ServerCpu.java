package io.holdfast.bench;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/**
 * The CPU time that a Redis server has used, user and system, read from its INFO over a connection of its own. It needs
 * no client library, so that none of the contenders is loaded by the measuring.
 */
public final class ServerCpu implements AutoCloseable {

    private static final byte[] QUESTION = "*2\r\n$4\r\nINFO\r\n$3\r\ncpu\r\n".getBytes(StandardCharsets.US_ASCII);

    private final Socket socket;
    private final InputStream in;

    public ServerCpu(URI server) {
        try {
            socket = new Socket(server.getHost(), server.getPort());
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public long nanos() {
        try {
            socket.getOutputStream().write(QUESTION);
            String header = line();
            int length = Integer.parseInt(header.substring(1));
            String info = new String(in.readNBytes(length), StandardCharsets.US_ASCII);
            in.readNBytes(2);
            return Math.round((field(info, "used_cpu_user:") + field(info, "used_cpu_sys:")) * 1e9);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the server closed the connection");
            }
            line.append((char) c);
        }
        return line.toString().strip();
    }

    private static double field(String info, String name) {
        int from = info.indexOf(name) + name.length();
        return Double.parseDouble(info.substring(from, info.indexOf('\r', from)));
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
