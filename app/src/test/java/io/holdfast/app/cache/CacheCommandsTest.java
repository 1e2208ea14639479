package io.holdfast.app.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.HoldfastCommands;
import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.slab.SlabCache;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheCommandsTest {

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private ExitCode run(String... words) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return new Cli(new HoldfastCommands(), Console.of(new PrintWriter(out), new PrintWriter(err))).run(words);
    }

    private String file() {
        return directory.resolve("pages").toString();
    }

    @Test
    void valueIsPutShownAndRemoved() {
        assertThat(run("cache", "put", file(), "front", "hello", "--create", "2MiB"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("stored as version");
        assertThat(run("cache", "get", file(), "front")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).isEqualToIgnoringNewLines("hello");
        assertThat(run("cache", "get", file(), "front", "--namespace", "other")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("cache", "remove", file(), "front")).isEqualTo(ExitCode.OK);
        assertThat(run("cache", "remove", file(), "front")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(err.toString()).contains("no value under 'front'");
    }

    @Test
    void lookingChangesNothing() {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("1 values", "adaptive");
        assertThat(run("cache", "top", file(), "--by", "version")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("front");
        assertThat(run("cache", "map", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("pages by slot", "pages by age", ".a");
        assertThat(run("cache", "watch", file(), "--every", "1ms", "--times", "2"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("ratio");
        assertThat(run("cache", "audit", file(), "--json")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).containsPattern("\"clean\": *true");
    }

    @Test
    void absentCacheIsNotFoundAndNotCreated() {
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(directory.toFile().list()).isEmpty();
    }

    private Path slab() {
        return directory.resolve("pages.slab3");
    }

    /** Flips a bit of the word at the offset. */
    private void damage(long at) throws IOException {
        try (FileChannel channel = FileChannel.open(slab(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, at);
            channel.write(ByteBuffer.wrap(new byte[] {(byte) (one.get(0) ^ 1)}), at);
        }
    }

    private byte[] digest() throws Exception {
        return MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(slab()));
    }

    @Test
    void auditOfADamagedIdleFileSaysSoAndLeavesItAsItIs() throws Exception {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        byte[] before = digest();
        damageTheValue();
        byte[] damaged = digest();
        assertThat(run("cache", "audit", file())).isEqualTo(ExitCode.FINDING);
        assertThat(out.toString()).contains("wrong checksum");
        assertThat(run("cache", "audit", file())).isEqualTo(ExitCode.FINDING);
        assertThat(digest()).isEqualTo(damaged).isNotEqualTo(before);
    }

    @Test
    void auditOfACacheThatIsWrittenToHasNoAnswerAndLeavesItAsItIs() throws Exception {
        try (SlabCache cache = SlabCache.open(directory.resolve("pages"), SlabCache.mebibytes(2))) {
            setWord(LOCK, word(FIRST_PROCESS)); // this very process is in the middle of a put
            byte[] before = digest();
            assertThat(run("cache", "audit", file())).isEqualTo(ExitCode.UNREACHABLE);
            assertThat(err.toString()).contains("is being written to", "--under-lock");
            assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.OK);
            assertThat(out.toString())
                    .contains("the lock of shard 0 is held by process "
                            + ProcessHandle.current().pid());
            assertThat(digest()).isEqualTo(before);
            setWord(LOCK, 0);
            assertThat(run("cache", "audit", file(), "--under-lock")).isEqualTo(ExitCode.OK);
            assertThat(out.toString()).contains("all counts agree");
            assertThat(cache.audit().isClean()).isTrue();
        }
    }

    @Test
    void lockThatAFailedCallLeftIsNotSaidToBeOfAProcess() throws IOException {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        setWord(LOCK, 1);
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("the lock of shard 0 was left by a call that failed: the next put repairs");
    }

    private static final long LOCK = 4_096;
    private static final long FIRST_PROCESS = 24_576;

    private long word(long at) throws IOException {
        try (FileChannel channel = FileChannel.open(slab(), StandardOpenOption.READ)) {
            ByteBuffer word = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
            channel.read(word, at);
            return word.flip().getLong();
        }
    }

    private void setWord(long at, long value) throws IOException {
        try (FileChannel channel = FileChannel.open(slab(), StandardOpenOption.WRITE)) {
            ByteBuffer word = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
            channel.write(word.putLong(value).flip(), at);
        }
    }

    /** The value is found by its bytes. */
    private void damageTheValue() throws IOException {
        byte[] bytes = Files.readAllBytes(slab());
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        damage(text.indexOf("fronthello") + 6);
    }

    @Test
    void lookingAtAFileOfAnotherBootLeavesItThere() throws Exception {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        pretendAnotherBoot();
        byte[] before = digest();
        assertThat(run("cache", "stats", file())).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("1 values", "written before this boot");
        assertThat(run("cache", "get", file(), "front")).isEqualTo(ExitCode.OK);
        assertThat(run("cache", "remove", file(), "front")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(digest()).isEqualTo(before);
    }

    private void pretendAnotherBoot() throws IOException {
        damage(48);
        ByteBuffer header = ByteBuffer.allocate(88);
        try (FileChannel channel = FileChannel.open(slab(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.read(header, 0);
            CRC32C crc = new CRC32C();
            crc.update(header.flip());
            ByteBuffer sum =
                    ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(crc.getValue());
            channel.write(sum.flip(), 88);
        }
    }

    @Test
    void namespaceThatWasNeverUsedIsNotMadeByLooking() {
        run("cache", "put", file(), "front", "hello", "--create", "2MiB");
        assertThat(run("cache", "get", file(), "front", "--namespace", "typo")).isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("cache", "remove", file(), "front", "--namespace", "typo"))
                .isEqualTo(ExitCode.NOT_FOUND);
        assertThat(run("cache", "stats", file(), "--json")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).doesNotContain("typo");
    }
}
