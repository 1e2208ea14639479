package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.ReclaimReason;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TableTest {

    @Test
    void numbersAreAlignedRightAndWordsLeft() {
        Table table = Table.of("name", "values", "share")
                .row("docs", 7, 0.25)
                .row("pictures", 1234567, 12.0)
                .row("x", null, null);
        assertThat(table.lines())
                .containsExactly(
                        "NAME       VALUES  SHARE",
                        "docs            7   0.25",
                        "pictures  1234567     12",
                        "x               -      -");
    }

    @Test
    void enumsAndDurationsAreWrittenAsWordsOfTheVocabulary() {
        Table table = Table.of("reason", "grace").row(ReclaimReason.LAPSED, Duration.ofMinutes(15));
        assertThat(table.lines()).containsExactly("REASON  GRACE", "lapsed  15m");
        assertThat(Json.text(table.json()).replaceAll("\\s", ""))
                .isEqualTo("[{\"reason\":\"lapsed\",\"grace\":\"15m\"}]");
    }

    @Test
    void wideLettersAndMarksThatCombineKeepTheColumns() {
        assertThat(Table.of("id", "state")
                        .row("room-17", "live")
                        .row("部屋", "live")
                        .row("cafe\u0301", "live")
                        .lines())
                .containsExactly("ID       STATE", "room-17  live", "部屋     live", "cafe\u0301     live");
    }

    @Test
    void aNameNeitherBreaksALineNorColoursTheTerminal() {
        Table table = Table.of("id").row("ev\u001b[31mil\nx");
        assertThat(table.lines()).containsExactly("ID", "ev\\u001b[31mil\\nx");
        assertThat(table.json().getFirst()).containsEntry("id", "ev\u001b[31mil\nx");
    }

    @Test
    void aRowOfAnotherWidthIsAMistake() {
        assertThatThrownBy(() -> Table.of("a", "b").row(1)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @CsvSource({"1234567.891,1235000", "0.000123456,0.0001235", "3.0,3", "0.1,0.1", "100.0,100"})
    void numbersKeepFourDigits(double value, String text) {
        assertThat(Json.number(value)).isEqualTo(text);
        assertThat(Json.text(value)).isEqualTo(text);
    }
}
