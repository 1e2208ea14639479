package io.holdfast.sweep.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.piece.Base32;
import io.holdfast.sweep.piece.PieceId;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IdFormTest {

    /** An alias names the same id for people and another one for a filter: a live piece would look like garbage. */
    @ParameterizedTest
    @CsvSource({
        "HEX, 00FF",
        "HEX, 0x00ff",
        "HEX, 0ff",
        "HEX, ''",
        "BASE32, AAAA",
        "BASE32, aaab",
        "BASE32, aa==",
        "BASE32, a0aa",
        "UUID, 123E4567-E89B-12D3-A456-426614174000",
        "UUID, {123e4567-e89b-12d3-a456-426614174000}",
        "UUID, 1-2-3-4-5",
        "TEXT, ''"
    })
    void aliasOfAnIdIsRefused(IdForm form, String text) {
        assertThatThrownBy(() -> form.decode(text))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("not a piece id as " + form);
    }

    @Test
    void everyFormHasOneTextForAnId() {
        SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < 2_000; i++) {
            byte[] id = new byte[1 + random.nextInt(64)];
            random.nextBytes(id);
            for (IdForm form : new IdForm[] {IdForm.HEX, IdForm.BASE32}) {
                assertThat(form.decode(form.encode(id))).isEqualTo(id);
            }
            assertThat(Base32.encode(id)).hasSize(Base32.length(id.length));
            assertThat(PieceId.parse(PieceId.of(id).toString(), id.length)).isEqualTo(PieceId.of(id));
        }
        byte[] sixteen = new byte[16];
        assertThat(IdForm.UUID.decode(IdForm.UUID.encode(sixteen))).isEqualTo(sixteen);
        assertThat(IdForm.TEXT.decode("käse")).hasSize(5);
    }
}
