package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class KillPointTest {

    @Test
    void aCensusCountsEveryPointAndEachOfThemCanBeDrawn() {
        var census = new KillPoint.Census();
        for (String point : new String[] {"a", "b", "a", "c:d", "a"}) {
            census.accept(point);
        }
        assertThat(census.counts()).isEqualTo(Map.of("a", 3, "b", 1, "c:d", 1));

        Set<String> drawn = new TreeSet<>();
        var random = Seeds.random(1);
        for (int i = 0; i < 200; i++) {
            drawn.add(KillPoint.drawn(random, census).text());
        }
        assertThat(drawn).containsExactly("KILL:1:a", "KILL:1:b", "KILL:1:c:d", "KILL:2:a", "KILL:3:a");
    }

    @Test
    void withoutAParentsWishNothingHappens() {
        KillPoint.ofThisJvm().accept("anything");
    }

    @Test
    void pointsAreCountedFromOne() {
        assertThatThrownBy(() -> KillPoint.at("a", 0)).hasMessageContaining("from 1");
    }
}
