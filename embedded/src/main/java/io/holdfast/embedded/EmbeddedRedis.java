package io.holdfast.embedded;

import io.holdfast.spi.EmbeddedStore;
import java.net.URI;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis server of this process's own, on 127.0.0.1 and a free port.
 *
 * <p>Without a data folder it keeps everything in memory and nothing after it. With one it keeps an append-only file
 * there, synced every second: what was acknowledged more than a second before a crash of the whole machine is there
 * again. A data folder belongs to one server at a time; a second one is refused.
 */
public final class EmbeddedRedis implements EmbeddedStore {

    /** For {@link java.util.ServiceLoader}. */
    public EmbeddedRedis() {}

    @Override
    public Running start(@Nullable Path dataFolder) {
        if (dataFolder == null) {
            return new Server(ServerLaunch.server().start(), null);
        }
        DataFolder folder = DataFolder.lock(dataFolder);
        try {
            ServerProcess process = ServerLaunch.server()
                    .folder(folder.path())
                    .dataKept()
                    .options("--appendonly", "yes", "--appendfsync", "everysec")
                    .start();
            folder.usedBy(process.pid());
            return new Server(process, folder);
        } catch (RuntimeException e) {
            folder.close();
            throw e;
        }
    }

    private static final class Server implements Running {

        private final ServerProcess process;
        private final @Nullable DataFolder folder;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Server(ServerProcess process, @Nullable DataFolder folder) {
            this.process = process;
            this.folder = folder;
        }

        @Override
        public URI uri() {
            return URI.create("redis://127.0.0.1:" + process.port());
        }

        @Override
        public void close() {
            if (!closed.compareAndSet(false, true)) {
                return;
            }
            process.close();
            if (folder != null) {
                folder.close();
            }
        }
    }
}
