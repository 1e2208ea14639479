package io.holdfast.redis.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.Seeds;
import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IdTableTest {

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void numbersAreGivenOnceAndKeptThroughGrowth(int width) {
        RandomGenerator random = Seeds.random(7);
        IdTable table = new IdTable(width, 0);
        Map<ValueId, Integer> model = new HashMap<>();
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes = new byte[width];
            random.nextBytes(bytes);
            bytes[0] = (byte) (i % 3); // many share their beginning, as ids of the same time do
            ValueId id = ValueId.of(bytes);
            assertThat(table.find(id)).isEqualTo(IdTable.NONE);
            int number = table.add(id);
            assertThat(number).isEqualTo(model.size());
            model.put(id, number);
            assertThat(table.add(id)).isEqualTo(number);
        }
        assertThat(table.size()).isEqualTo(model.size());
        model.forEach((id, number) -> {
            assertThat(table.find(id)).isEqualTo(number);
            assertThat(table.id(number)).isEqualTo(id);
        });
    }

    @Test
    void columnsAreZeroUntilSet() {
        IdTable.Ints ints = new IdTable.Ints();
        IdTable.Flags flags = new IdTable.Flags();
        assertThat(ints.get(1_000_000)).isZero();
        ints.add(100_000, 3);
        ints.add(100_000, Integer.MAX_VALUE);
        assertThat(ints.get(100_000)).isEqualTo(Integer.MAX_VALUE);
        assertThat(flags.has(70_000, 4)).isFalse();
        assertThat(flags.set(70_000, 4)).isTrue();
        assertThat(flags.set(70_000, 4)).isFalse();
        assertThat(flags.has(70_000, 2)).isFalse();
    }

    /** The bound that is promised for ten million values: measured where the index has just grown, which is the worst. */
    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void censusTakesLessThanAHundredBytesAValue(int width) {
        RandomGenerator random = Seeds.random(11);
        Census census = new Census(width, 0);
        byte[] bytes = new byte[width];
        int worstPlace = (1 << 19) - (1 << 17) + 1;
        for (int i = 0; i < worstPlace; i++) {
            random.nextBytes(bytes);
            census.value(bytes, 0);
            census.count(bytes, new byte[] {'2'});
            census.holds.add(i, 2);
        }
        assertThat(census.ids.size()).isEqualTo(worstPlace);
        double stackOfTheWalk = Integer.BYTES;
        double whileTheIndexGrows = 4 * Integer.BYTES / 3.0;
        assertThat(census.bytesPerId() + stackOfTheWalk + whileTheIndexGrows).isLessThan(100);
    }
}
