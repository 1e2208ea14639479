package io.holdfast.sweep.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.testkit.Seeds;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class FilterFormatTest {

    private static final long LIMIT = 1 << 20;

    @Test
    void roundTrip() throws IOException {
        for (double rate : new double[] {0.1, 0.01}) {
            LiveFilter filter = LiveFilterTest.filled(LiveFilterTest.fingerprints(1, 3_000), rate, 17);
            byte[] bytes = bytes(filter);
            assertThat(bytes).hasSize((int) FilterFormat.length(filter.geometry()));
            assertThat(FilterFormat.read(new ByteArrayInputStream(bytes), LIMIT))
                    .isEqualTo(filter);
        }
    }

    @Test
    void filterOverTheReadersLimitIsRefusedBeforeItIsAllocated() throws IOException {
        ByteBuffer head = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        head.put(new byte[] {'H', 'F', 'L', 'F'})
                .putShort((short) 1)
                .putShort((short) 1)
                .putLong(5);
        head.putInt(8).putInt(250_000_000);
        refused(head.array(), "the limit is");
        // Within the limit, but nothing follows: memory grows with what arrives, not with what is announced.
        assertThatThrownBy(() -> FilterFormat.read(new ByteArrayInputStream(head.array()), Long.MAX_VALUE))
                .hasMessageContaining("ends within its words");
    }

    @Test
    void otherVersionsAreRefused() throws IOException {
        byte[] bytes = bytes(LiveFilterTest.filled(LiveFilterTest.fingerprints(1, 10), 0.1, 17));
        for (int at : new int[] {4, 6}) {
            byte[] other = bytes.clone();
            other[at] = 2;
            refused(other, "known are 1 and 1");
        }
    }

    /** Every damaged, cut or lengthened filter is refused as CORRUPT; nothing else comes out, nothing crashes. */
    @Test
    void fuzzedFiltersAreRefused() {
        Seeds.of(3_000).run((seed, random) -> {
            LiveFilter filter = LiveFilterTest.filled(
                    LiveFilterTest.fingerprints(seed, random.nextInt(200)), random.nextBoolean() ? 0.1 : 0.01, seed);
            byte[] bytes = bytes(filter);
            byte[] damaged = damage(bytes, random);
            try {
                LiveFilter read = FilterFormat.read(new ByteArrayInputStream(damaged), LIMIT);
                // Only bytes after the end may differ.
                assertThat(Arrays.copyOf(damaged, bytes.length)).isEqualTo(bytes);
                assertThat(read).isEqualTo(filter);
            } catch (HoldfastException e) {
                assertThat(e.category()).isEqualTo(Category.CORRUPT);
            }
        });
    }

    private static byte[] damage(byte[] bytes, RandomGenerator random) {
        byte[] damaged = bytes.clone();
        switch (random.nextInt(4)) {
            case 0 -> damaged = Arrays.copyOf(bytes, random.nextInt(bytes.length));
            case 1 -> damaged = Arrays.copyOf(bytes, bytes.length + 1 + random.nextInt(100));
            case 2 -> {
                for (int i = random.nextInt(8); i >= 0; i--) {
                    damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
                }
            }
            default -> random.nextBytes(damaged);
        }
        return damaged;
    }

    private static void refused(byte[] bytes, String why) {
        assertThatThrownBy(() -> FilterFormat.read(new ByteArrayInputStream(bytes), LIMIT))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.CORRUPT))
                .hasMessageContaining(why);
    }

    private static byte[] bytes(LiveFilter filter) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        FilterFormat.write(filter, out);
        return out.toByteArray();
    }
}
