package io.holdfast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException.Category;
import java.time.Duration;
import java.time.Instant;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class VocabularyTest {

    private static final Instant NOW = Instant.parse("2026-05-01T00:00:00Z");

    @Test
    void holderHasATextForm() {
        HolderId holder = HolderId.newIncarnation("web-1");
        assertThat(HolderId.parse(holder.toString())).isEqualTo(holder);
        assertThat(new HolderId("a", 255)).hasToString("a#00000000000000ff");
    }

    @Test
    void nextLifeIsTheSameInstanceAndAnotherIncarnation() {
        HolderId first = HolderId.newIncarnation("web-1");
        assertThat(first.reborn(new Random(1)).instance()).isEqualTo("web-1");
        assertThat(first.reborn(new Random(1))).isNotEqualTo(first);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "web 1", "web/1", "a#b", "a#00000000000000fg", "#00000000000000ff"})
    void nonsenseIsNotAHolder(String text) {
        assertThatThrownBy(() -> HolderId.parse(text))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.MISUSE));
    }

    @Test
    void leaseLapsesAtItsDeadlineAndIsNotRenewedAfterIt() {
        Lease lease = new Lease(new HolderId("a", 1), Duration.ofSeconds(5), NOW.plusSeconds(5));
        assertThat(lease.lapsedAt(NOW.plusMillis(4_999))).isFalse();
        assertThat(lease.remainingAt(NOW.plusSeconds(2))).isEqualTo(Duration.ofSeconds(3));
        assertThat(lease.renewedAt(NOW.plusSeconds(4)).deadline()).isEqualTo(NOW.plusSeconds(9));
        assertThat(lease.lapsedAt(NOW.plusSeconds(5))).isTrue();
        assertThat(lease.remainingAt(NOW.plusSeconds(60))).isZero();
        assertThatThrownBy(() -> lease.renewedAt(NOW.plusSeconds(5)))
                .isInstanceOfSatisfying(
                        HoldfastException.class, e -> assertThat(e.category()).isEqualTo(Category.LAPSED));
    }

    @ParameterizedTest
    @EnumSource(ThingId.Kind.class)
    void everyKindReadsItsOwnTextForm(ThingId.Kind kind) {
        ThingId thing = new ThingId(kind, "docs", "a/b:c");
        assertThat(ThingId.parse(thing.toString())).isEqualTo(thing);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "value", "value:", "value:docs", "value:docs/", "value:/x", "thing:docs/x", ":docs/x"})
    void nonsenseIsNotAThing(String text) {
        assertThatThrownBy(() -> ThingId.parse(text))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("names nothing");
    }

    @Test
    void summariesAddUp() {
        assertThat(new ReclaimSummary(5, 2, 2, 1).plus(new ReclaimSummary(1, 1, 0, 0)))
                .isEqualTo(new ReclaimSummary(6, 3, 2, 1));
        assertThatThrownBy(() -> new ReclaimSummary(1, 1, 1, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void onlyRetryIsRetryable() {
        for (Category category : Category.values()) {
            assertThat(new HoldfastException(category, "x").isRetryable()).isEqualTo(category == Category.RETRY);
            assertThat(category.action()).isNotBlank();
        }
    }
}
