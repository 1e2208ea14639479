package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Looking at a cache: everything is seen, and nothing changed. */
class SlabInspectorTest extends OpenCaches {

    private SlabCache filled() {
        SlabCache cache = open(builder().time(Time.system()));
        for (int i = 0; i < 100; i++) {
            cache.put(Cargo.key(i), Cargo.value(i, i, 500));
        }
        cache.namespace("n").put(bytes("k"), bytes("v"));
        return cache;
    }

    @Test
    void everythingIsSeenAndNoByteIsChanged() throws IOException {
        SlabCache cache = filled();
        SlabInspector inspector = SlabInspector.of(cache.file());
        byte[] before = Files.readAllBytes(cache.file());
        assertThat(inspector.stats().items()).isEqualTo(101);
        assertThat(inspector.stats().processes()).hasSize(1).allMatch(SlabStats.AttachedProcess::alive);
        assertThat(inspector.pages()).hasSameSizeAs(cache.pages());
        List<SlabEntry> met = new ArrayList<>();
        inspector.forEach(true, met::add);
        assertThat(met).hasSize(101);
        Versioned found = inspector.get("n", bytes("k"));
        assertThat(found == null ? null : found.value()).isEqualTo(bytes("v"));
        assertThat(inspector.get("", bytes("k"))).isNull();
        assertThat(inspector.get("typo", bytes("k"))).isNull();
        assertThat(inspector.audit())
                .hasValueSatisfying(report -> assertThat(report.isClean()).isTrue());
        assertThat(inspector.isOfThisBoot()).isTrue();
        assertThat(Files.readAllBytes(cache.file())).isEqualTo(before);
    }

    @Test
    void holderOfTheLockIsNamedWhetherItLivesOrNot() throws IOException {
        SlabCache cache = filled();
        SlabInspector inspector = SlabInspector.of(cache.file());
        assertThat(inspector.lockHolders()).isEmpty();
        Life living = new FileLife(Descriptor.open(cache.file()));
        lockedBy(cache, living.me());
        assertThat(inspector.lockHolders())
                .contains(
                        new SlabInspector.LockHolder(0, ProcessHandle.current().pid(), true));
        assertThat(inspector.stats().items()).isEqualTo(101);
        assertThat(inspector.get("n", bytes("k"))).isNotNull();
        assertThat(inspector.audit())
                .as("the holder may be in the middle of a change")
                .isEmpty();
        lockedBy(cache, Life.name(4_000_000, 1));
        assertThat(inspector.lockHolders()).contains(new SlabInspector.LockHolder(0, 4_000_000, false));
        assertThat(inspector.audit()).isPresent();
        lockedBy(cache, 0);
        assertThat(living.me()).isNotZero();
    }

    private static void lockedBy(SlabCache cache, long holder) throws IOException {
        try (FileChannel channel = FileChannel.open(cache.file(), StandardOpenOption.WRITE)) {
            ByteBuffer word = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
            channel.write(word.putLong(holder).flip(), SlabLayout.C_LOCK);
        }
    }

    @Test
    void fileOfAnotherBootIsShownAndNotAttachedTo() {
        SlabCache old = open(builder().host(new HeapRegion.FakeHost()));
        old.put(bytes("k"), bytes("v"));
        old.close();
        SlabInspector inspector = SlabInspector.of(old.file());
        assertThat(inspector.isOfThisBoot()).isFalse();
        assertThat(inspector.get("", bytes("k"))).isNotNull();
        assertRefused(Category.GONE, "another boot", () -> SlabCache.attach(old.file()));
        assertThat(old.file()).exists();
    }

    @Test
    void absentFileIsToldAndStoresAreRefused() {
        assertRefused(Category.GONE, "no cache", () -> SlabInspector.of(directory.resolve("nothing")));
        SlabCache cache = filled();
        Memory memory = new ReadOnlyMemory(
                new SlabFile(cache.file(), Host.linux()).inspect().segment());
        assertThatThrownBy(() -> memory.word(SlabLayout.C_LOCK, 1)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> memory.swap(SlabLayout.C_LOCK, 0, 1))
                .isInstanceOf(UnsupportedOperationException.class);
    }
}
