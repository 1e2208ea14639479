package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class SeedsTest {

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    @Test
    void runsTheDefaultNumberUnlessAskedForAnother() {
        assertThat(seen(with("", ""))).containsExactly(1L, 2L, 3L);
        assertThat(seen(with("seeds", "5"))).containsExactly(1L, 2L, 3L, 4L, 5L);
        assertThat(seen(with("seeds", "7-9"))).as("a range").containsExactly(7L, 8L, 9L);
        assertThat(seen(with("seeds", ""))).as("Maven passes an empty property").hasSize(3);
        assertThat(seen(with("seed", "42"))).containsExactly(42L);
        assertThat(seen(with("seed", "-42"))).containsExactly(-42L);
    }

    @Test
    void theSameSeedGivesTheSameNumbers() {
        List<Long> numbers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            with("seed", "42").run((seed, random) -> numbers.add(random.nextLong()));
        }
        assertThat(numbers.get(0)).isEqualTo(numbers.get(1));
    }

    @Test
    void aFailureNamesTheSeedThatReplaysItAndEndsTheRun() {
        List<Long> seen = new ArrayList<>();

        var failure = catchThrowableOfType(
                AssertionError.class,
                () -> with("seeds", "100").run((seed, random) -> {
                    seen.add(seed);
                    if (seed == 7) {
                        throw new IllegalStateException("planted");
                    }
                }));

        assertThat(failure).hasMessageStartingWith("-Dseed=7 replays this").hasMessageContaining("planted");
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("-Dseed=7");
        assertThat(seen).hasSize(7);
    }

    @Test
    void twoAtATimeTriesEachSeedOnce() {
        Set<Long> seen = ConcurrentHashMap.newKeySet();
        var both = new CyclicBarrier(2);

        with("seeds", "20").twoAtATime().run((seed, random) -> {
            both.await(20, TimeUnit.SECONDS);
            assertThat(seen.add(seed)).isTrue();
        });

        assertThat(seen).hasSize(20);
    }

    @Test
    void aFailureOnTheOtherThreadIsNotLost() {
        assertThatThrownBy(() -> with("seeds", "50").twoAtATime().run((seed, random) -> {
                    assertThat(seed).isNotEqualTo(31);
                }))
                .hasMessageStartingWith("-Dseed=31 replays this");
    }

    @Test
    void nonsenseIsRefusedByName() {
        assertThatThrownBy(() -> with("seeds", "0"))
                .hasMessageContaining("-Dseeds=0")
                .hasMessageContaining("1");
        assertThatThrownBy(() -> with("minutes", "x")).hasMessageContaining("-Dminutes=x");
    }

    private Seeds with(String name, String value) {
        var properties = new Properties();
        properties.setProperty(name, value);
        return Seeds.of(3, properties).reportTo(new PrintStream(said, true, StandardCharsets.UTF_8));
    }

    private static List<Long> seen(Seeds seeds) {
        List<Long> seen = new ArrayList<>();
        seeds.run((seed, random) -> seen.add(seed));
        return seen;
    }
}
