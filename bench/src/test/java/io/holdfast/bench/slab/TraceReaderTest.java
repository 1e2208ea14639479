package io.holdfast.bench.slab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceReaderTest {

    @TempDir
    Path directory;

    private Path file(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text.replace('|', '\n'));
    }

    private static void assertIsTheTrace(Trace trace) {
        assertThat(trace.keys()).containsExactly(0, 1, 0);
        assertThat(trace.sizes()).containsExactly(100, 2_000, 100);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1 a 100|2 b 2000|3 a 100",
                "1,a,100|2,b,2000|3,a,100|",
                "# a comment||1\ta\t100|2\tb\t2000|3\ta\t100",
                "a 100|b 2000|a 100",
                "a,100|b,2000|a,100",
                "1;a;100;GET|2;b;2000;GET|3;a;100;SET",
                "time,object_id,op,size|1,a,get,100|2,b,get,2000|3,a,get,100",
                "Size Key|100 a|2000 b|100 a",
            })
    void usualTextIsRead(String text) throws IOException {
        assertIsTheTrace(TraceReader.read(file("trace.txt", text)));
    }

    @Test
    void gzipIsToldByItsContent() throws IOException {
        Path file = directory.resolve("packed");
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
            out.write("1 a 100\n2 b 2000\n3 a 100\n".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        assertIsTheTrace(TraceReader.read(file));
    }

    @Test
    void oracleGeneralIsRead() throws IOException {
        ByteBuffer records = ByteBuffer.allocate(3 * 24).order(ByteOrder.LITTLE_ENDIAN);
        records.putInt(1).putLong(77).putInt(100).putLong(3);
        records.putInt(1).putLong(-5).putInt(2_000).putLong(-1);
        records.putInt(4).putLong(77).putInt(100).putLong(-1);
        Path file = Files.write(directory.resolve("w01.oracleGeneral.bin"), records.array());
        assertIsTheTrace(TraceReader.read(file));
        Files.write(file, java.util.Arrays.copyOf(records.array(), 60));
        assertThatThrownBy(() -> TraceReader.read(file)).hasMessageContaining("request 3 is wrong");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '=',
            value = {
                "1 a 100|2 b many = line 2 has 'many'",
                "1 a 100|2 b -1 = line 2 has '-1'",
                "1 a 100|b = line 2 has 1 columns",
                "# nothing = no request",
            })
    void lineThatDoesNotFitIsRefusedByItsNumber(String text, String said) throws IOException {
        Path file = file("trace.txt", text);
        assertThatThrownBy(() -> TraceReader.read(file))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining(said);
    }

    @Test
    void whatCannotBeReadIsRefused() throws IOException {
        assertThatThrownBy(() -> TraceReader.read(directory.resolve("none"))).hasMessageContaining("there is no trace");
        Path packed = file("trace.zst", "1 a 100");
        assertThatThrownBy(() -> TraceReader.read(packed)).hasMessageContaining("not read here");
    }
}
