package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChecksumTest {

    private static long of(byte[] bytes) {
        return Checksum.of(Checksum.NOTHING, bytes, bytes.length);
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 9, 64, 700, 4_095, 4_096, 4_097, 9_000})
    void everyBitThatFlipsIsSeen(int length) {
        for (byte[] bytes : new byte[][] {bytes(length), new byte[length]}) {
            long whole = of(bytes);
            for (int bit = 0; bit < length * 8; bit++) {
                bytes[bit / 8] ^= (byte) (1 << bit % 8);
                assertThat(of(bytes)).as("bit %d of %d bytes", bit, length).isNotEqualTo(whole);
                bytes[bit / 8] ^= (byte) (1 << bit % 8);
            }
        }
    }

    /** Half of a word is what makes a factor zero: then the product says nothing of the other half. */
    @Test
    void bitThatFlipsBesideAFactorOfZeroIsSeen() {
        byte[] zeroLow = new byte[8];
        ByteBuffer.wrap(zeroLow).order(ByteOrder.LITTLE_ENDIAN).putInt(0, (int) Checksum.place(0));
        byte[] zeroHigh = new byte[8];
        ByteBuffer.wrap(zeroHigh).order(ByteOrder.LITTLE_ENDIAN).putInt(4, (int) (Checksum.place(0) >>> 32));
        for (byte[] bytes : new byte[][] {zeroLow, zeroHigh}) {
            long whole = of(bytes);
            for (int bit = 0; bit < 64; bit++) {
                bytes[bit / 8] ^= (byte) (1 << bit % 8);
                assertThat(of(bytes)).as("bit %d", bit).isNotEqualTo(whole);
                bytes[bit / 8] ^= (byte) (1 << bit % 8);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 700, 4_096, 12_288})
    void partsThatChangePlacesAreSeen(int length) {
        byte[] bytes = bytes(length);
        Set<Long> sums = new HashSet<>(Set.of(of(bytes)));
        for (int part = 8; part * 2 <= length; part *= 2) {
            byte[] swapped = bytes.clone();
            System.arraycopy(bytes, 0, swapped, part, part);
            System.arraycopy(bytes, part, swapped, 0, part);
            assertThat(sums.add(of(swapped))).as("the first two %d bytes", part).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {64, 700, 4_096, 9_000})
    void whatIsCutOffAndZeroedIsSeen(int length) {
        byte[] bytes = bytes(length);
        Arrays.fill(bytes, (byte) 7);
        Set<Long> sums = new HashSet<>(Set.of(of(bytes)));
        for (int end = length - 1; end >= 0; end--) {
            bytes[end] = 0;
            assertThat(sums.add(of(bytes))).as("zero from %d on", end).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, 4_096, 8_192, 100_000})
    void pieceByPieceIsTheSameAsAtOnce(int length) {
        byte[] bytes = bytes(length);
        long state = Checksum.NOTHING;
        for (int at = 0; at < length; at += Checksum.BLOCK_BYTES) {
            byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(length, at + Checksum.BLOCK_BYTES));
            state = Checksum.of(state, piece, piece.length);
        }
        assertThat(state).isEqualTo(of(bytes));
    }
}
