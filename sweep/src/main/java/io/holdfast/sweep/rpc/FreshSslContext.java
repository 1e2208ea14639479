package io.holdfast.sweep.rpc;

import io.grpc.netty.shaded.io.netty.buffer.ByteBufAllocator;
import io.grpc.netty.shaded.io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSessionContext;

/**
 * Certificate, key and authorities, read again when one of the files has changed: for connections that begin then. Files that
 * cannot be read, as while they are being replaced, leave what was read before.
 */
final class FreshSslContext extends SslContext {

    private static final System.Logger LOG = System.getLogger(FreshSslContext.class.getName());

    private final List<Path> files;
    private final Supplier<SslContext> reader;
    private List<String> seen;
    private SslContext current;

    FreshSslContext(List<Path> files, Supplier<SslContext> reader) {
        this.files = List.copyOf(files);
        this.reader = reader;
        this.seen = look();
        this.current = reader.get();
    }

    private List<String> look() {
        List<String> states = new ArrayList<>();
        for (Path file : files) {
            try {
                BasicFileAttributes state = Files.readAttributes(file, BasicFileAttributes.class);
                states.add(state.lastModifiedTime() + " " + state.size() + " " + state.fileKey());
            } catch (IOException e) {
                states.add("" + e);
            }
        }
        return states;
    }

    private synchronized SslContext current() {
        List<String> now = look();
        if (!now.equals(seen)) {
            try {
                current = reader.get();
                seen = now;
            } catch (RuntimeException e) {
                LOG.log(Level.WARNING, "the files for TLS have changed and cannot be read: {0}", e.getMessage());
            }
        }
        return current;
    }

    @Override
    public boolean isClient() {
        return current().isClient();
    }

    @Override
    public List<String> cipherSuites() {
        return current().cipherSuites();
    }

    @Override
    @SuppressWarnings("deprecation") // the only way in which a context says it
    public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
        return current().applicationProtocolNegotiator();
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator) {
        return current().newEngine(allocator);
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator, String peerHost, int peerPort) {
        return current().newEngine(allocator, peerHost, peerPort);
    }

    @Override
    public SSLSessionContext sessionContext() {
        return current().sessionContext();
    }
}
