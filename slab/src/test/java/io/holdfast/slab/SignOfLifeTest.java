package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which processes count as alive. */
class SignOfLifeTest {

    @TempDir
    Path directory;

    private Path file() throws IOException {
        return Files.write(directory.resolve("file"), new byte[4_096]);
    }

    @Test
    void processIsAliveToAllWhoHaveTheFileOpenAndItsNamesakeIsNot() throws IOException {
        Path file = file();
        Life one = new FileLife(Descriptor.open(file));
        Life other = new FileLife(Descriptor.open(file));
        assertThat(one.me()).isNotEqualTo(other.me());
        assertThat(one.isAlive(one.me())).isTrue();
        assertThat(other.isAlive(one.me())).isTrue();
        assertThat(other.isAlive(one.me() ^ 1)).isFalse();
        assertThat(other.isAlive(0)).isFalse();
        assertThat(other.isAlive(-1)).isFalse();
        assertThat(Life.pidOf(one.me())).isEqualTo((int) ProcessHandle.current().pid());
    }

    @Test
    void openingAndClosingTheFileElsewhereInTheProcessLosesNothing() throws IOException {
        Path file = file();
        Life one = new FileLife(Descriptor.open(file));
        Life other = new FileLife(Descriptor.open(file));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.lock(1 << 20, 1, false).release();
        }
        Files.readAllBytes(file);
        Descriptor.open(file).close();
        assertThat(other.isAlive(one.me())).isTrue();
    }

    @Test
    void closedDescriptorIsNoSignOfLife() throws IOException {
        Path file = file();
        Descriptor descriptor = Descriptor.open(file);
        long name = Life.name(1234, 77);
        assertThat(descriptor.tryLock(name)).isTrue();
        Life other = new FileLife(Descriptor.open(file));
        assertThat(other.isAlive(name)).isTrue();
        descriptor.close();
        assertThat(other.isAlive(name)).isFalse();
    }

    @Test
    void effectiveUserIsTheOwnerOfNewFiles() throws IOException {
        assertThat(Files.getAttribute(file(), "unix:uid", LinkOption.NOFOLLOW_LINKS))
                .isEqualTo(Descriptor.effectiveUser());
    }
}
