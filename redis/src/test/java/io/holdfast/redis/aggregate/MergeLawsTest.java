package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MergeLawsTest {

    @Test
    void sumsKeepAllLaws() {
        assertThatCode(() -> MergeLaws.of(Visit.class, Visit::merge)
                        .identity(new Visit(0, 0))
                        .check())
                .doesNotThrowAnyException();
        assertThatCode(() -> MergeLaws.of(Long.class, Math::max).check()).doesNotThrowAnyException();
    }

    @Test
    void orderThatMattersIsReportedWithACounterExample() {
        assertThatThrownBy(() -> MergeLaws.of(String.class, String::concat).check())
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("commutative: merge(a, b) = merge(b, a)")
                .hasMessageContaining("a = t")
                .hasMessageContaining("left  = t")
                .hasMessageContaining("replays it");
    }

    @Test
    void meanThatIsNotAssociativeIsReported() {
        assertThatThrownBy(() -> MergeLaws.of(Double.class, (one, other) -> (one + other) / 2)
                        .check())
                .hasMessageContaining("associative");
    }

    @Test
    void identityThatIsNoneIsReported() {
        assertThatThrownBy(() -> MergeLaws.of(Visit.class, Visit::merge)
                        .identity(new Visit(1, 0))
                        .check())
                .hasMessageContaining("identity");
    }

    record Names(Set<String> all) {
        Names into(Names other) {
            all.addAll(other.all);
            return this;
        }
    }

    @Test
    void mergeThatChangesItsArgumentsIsReported() {
        assertThatThrownBy(() -> MergeLaws.of(Names.class, Names::into).check())
                .hasMessageContaining("merging leaves its arguments as they are");
    }

    @Test
    void valuesOfOtherTypesAreDrawnByTheCaller() {
        MergeLaws.values(random -> List.of(random.nextInt(3)), (one, other) -> {
                    Set<Integer> all = new HashSet<>(one);
                    all.addAll(other);
                    return new ArrayList<>(all).stream().sorted().toList();
                })
                .check();
    }

    @Test
    void nearEnoughIsTheCallersBusiness() {
        MergeLaws.values(random -> random.nextDouble(), Double::sum)
                .equality((one, other) -> Math.abs(one - other) < 1e-9)
                .check();
    }

    @Test
    void theSeedReplaysTheCounterExample() {
        try {
            MergeLaws.of(String.class, String::concat).check();
        } catch (AssertionError first) {
            String message = String.valueOf(first.getMessage());
            long seed = Long.parseLong(message.replaceAll("(?s).*seed\\((\\d+)\\).*", "$1"));
            assertThatThrownBy(() -> MergeLaws.of(String.class, String::concat)
                            .seed(seed)
                            .tries(1)
                            .check())
                    .hasMessage(message);
        }
    }
}
