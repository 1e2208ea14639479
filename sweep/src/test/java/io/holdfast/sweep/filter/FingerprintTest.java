package io.holdfast.sweep.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The fingerprint function is fixed for good: these answers hold for every release that says VERSION 1. */
class FingerprintTest {

    @ParameterizedTest
    @CsvSource({
        "00, a6cd5e9392000f6ac44bdff4074eecdb",
        "616263, 06b05ab6733a618578af5f94892f3950",
        "000102030405060708090a0b0c0d0e0f, 72950631827607e2842812cc870dcae2",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f, 25e7c9b3424ceed2457d9566b6fcd697",
    })
    void knownAnswers(String id, String fingerprint) {
        Fingerprint made = Fingerprint.of(HexFormat.of().parseHex(id));
        HexFormat hex = HexFormat.of();
        assertThat(hex.toHexDigits(made.high()) + hex.toHexDigits(made.low())).isEqualTo(fingerprint);
        assertThat(Fingerprint.VERSION).isEqualTo(1);
    }

    @Test
    void sameFromTheMiddleOfABuffer() {
        byte[] buffer = "xxpiece-17yy".getBytes(StandardCharsets.US_ASCII);
        long[] target = new long[4];
        Fingerprint.put(buffer, 2, 8, target, 1);
        assertThat(new Fingerprint(target[1], target[2]))
                .isEqualTo(Fingerprint.of("piece-17".getBytes(StandardCharsets.US_ASCII)));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 65, 1000})
    void idsOfImpossibleLengthAreRefused(int length) {
        assertThatThrownBy(() -> Fingerprint.of(new byte[length]))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining(length + " bytes");
    }
}
