package io.holdfast.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ServerBinaryTest {

    private static final FileTime LONG_AGO = FileTime.from(Instant.parse("2020-01-01T00:00:00Z"));

    @TempDir
    Path folder;

    private final ServerBinary binary = ServerBinary.of("Linux", "amd64");

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, redis-server-7.0.15-linux-amd64",
        "Linux, aarch64, redis-server-7.0.15-linux-arm64",
        "Linux, i386, redis-server-7.0.15-linux-386",
        "Mac OS X, x86_64, redis-server-7.0.15-darwin-amd64",
        "Mac OS X, aarch64, redis-server-7.0.15-darwin-arm64"
    })
    void everyPlatformHasItsBinaryInTheJarAsPinned(String os, String machine, String name) throws Exception {
        ServerBinary found = ServerBinary.of(os, machine);

        assertThat(found.resource()).isEqualTo(name);
        assertThat(found.unpackInto(folder)).hasSize(found.size()); // refuses what the digest does not fit
    }

    @ParameterizedTest
    @CsvSource({"Windows 11, amd64", "Linux, riscv64", "SunOS, sparcv9"})
    void anUnsupportedPlatformIsNamedWithWhatToDo(String os, String machine) {
        var refusal = catchThrowableOfType(HoldfastException.class, () -> ServerBinary.of(os, machine));

        assertThat(refusal.category()).isEqualTo(Category.MISUSE);
        assertThat(refusal)
                .hasMessageContaining(os)
                .hasMessageContaining(machine)
                .hasMessageContaining("Linux on");
        assertThat(refusal.action()).contains("connect");
    }

    @Test
    void anUnpackedBinaryIsUsedAgainAsItIs() throws Exception {
        Path unpacked = binary.unpackInto(folder);
        Files.setLastModifiedTime(unpacked, LONG_AGO);

        assertThat(binary.unpackInto(folder)).isEqualTo(unpacked);
        assertThat(Files.getLastModifiedTime(unpacked)).isEqualTo(LONG_AGO);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(unpacked)))
                .isEqualTo("rwx------");
    }

    @Test
    void aServerOfOnesOwnIsTakenIfItCanBeExecuted() throws Exception {
        Path server = binary.unpackInto(folder);
        Path text = Files.writeString(folder.resolve("text"), "no server", StandardOpenOption.CREATE_NEW);

        assertThat(ServerBinary.own(server.toString())).isEqualTo(server);
        for (Path wrong : List.of(text, folder, folder.resolve("missing"))) {
            assertThatThrownBy(() -> ServerBinary.own(wrong.toString()))
                    .isInstanceOf(HoldfastException.class)
                    .hasMessageContaining("holdfast.embedded.server=" + wrong + " is no file that can be executed");
        }
    }

    @Test
    void aHalfWrittenBinaryIsReplaced() throws Exception {
        Path unpacked = binary.unpackInto(folder);
        try (var file = new RandomAccessFile(unpacked.toFile(), "rw")) {
            file.setLength(binary.size() / 2);
        }

        binary.unpackInto(folder);

        assertUnpackedAsInTheJar(unpacked);
    }

    @Test
    void aTamperedBinaryOfTheSameSizeIsReplaced() throws Exception {
        Path unpacked = binary.unpackInto(folder);
        try (var file = new RandomAccessFile(unpacked.toFile(), "rw")) {
            file.seek(binary.size() / 2);
            int old = file.read();
            file.seek(binary.size() / 2);
            file.write(old ^ 1);
        }

        binary.unpackInto(folder);

        assertUnpackedAsInTheJar(unpacked);
    }

    @Test
    void aLinkInPlaceOfTheBinaryIsReplacedAndItsTargetLeftAlone() throws Exception {
        Path elsewhere = Files.writeString(folder.resolve("elsewhere"), "mine", StandardOpenOption.CREATE_NEW);
        Path place = Files.createSymbolicLink(folder.resolve(binary.resource()), elsewhere);

        binary.unpackInto(folder);

        assertUnpackedAsInTheJar(place);
        assertThat(elsewhere).hasContent("mine");
    }

    private void assertUnpackedAsInTheJar(Path unpacked) throws Exception {
        assertThat(unpacked).isRegularFile();
        try (InputStream jar = ServerBinary.class.getResourceAsStream("/" + binary.resource())) {
            assertThat(Files.readAllBytes(unpacked)).isEqualTo(jar.readAllBytes());
        }
        assertThat(folder).isDirectoryNotContaining("glob:**.part");
    }
}
