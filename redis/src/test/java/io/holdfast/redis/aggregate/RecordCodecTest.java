package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.testkit.Seeds;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RecordCodecTest {

    record Everything(
            long a,
            int b,
            short c,
            byte d,
            boolean e,
            char f,
            double g,
            float h,
            String i,
            Instant j,
            Duration k,
            UUID l,
            BigDecimal m,
            BigInteger n,
            DayOfWeek o,
            LocalDate p,
            Optional<String> q,
            List<Visit> r,
            Set<String> s,
            Map<String, Long> t,
            Visit u,
            Long v) {}

    @Test
    void everyKnownTypeSurvives() {
        var codec = RecordCodec.of(Everything.class);
        var samples = Samples.of(Everything.class, "Everything");
        Seeds.of(500).run((seed, random) -> {
            Everything value = (Everything) samples.apply(random);
            assertThat(codec.decode(codec.encode(value))).isEqualTo(value);
        });
    }

    @Test
    void extremesSurvive() {
        var codec = RecordCodec.of(Visit.class);
        for (long one : new long[] {0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            Visit value = new Visit(one, -one);
            assertThat(codec.decode(codec.encode(value))).isEqualTo(value);
        }
    }

    record Old(long views, @Nullable String removed, List<Long> alsoRemoved) {}

    record New(
            long views,
            int added,
            Optional<String> empty,
            List<String> none,
            @Nullable Visit nothing) {}

    @Test
    void fieldsMayBeAddedAndRemoved() {
        byte[] old = RecordCodec.of(Old.class).encode(new Old(7, "x", List.of(1L, 2L)));
        assertThat(RecordCodec.of(New.class).decode(old)).isEqualTo(new New(7, 0, Optional.empty(), List.of(), null));
        byte[] fresh = RecordCodec.of(New.class).encode(new New(7, 3, Optional.of("y"), List.of("z"), Visit.of(1)));
        assertThat(RecordCodec.of(Old.class).decode(fresh)).isEqualTo(new Old(7, null, List.of()));
    }

    record Narrow(int views) {}

    record Wide(long views) {}

    record Other(String views) {}

    @Test
    void numbersMayGrowAndAnotherTypeIsRefused() {
        byte[] narrow = RecordCodec.of(Narrow.class).encode(new Narrow(-5));
        assertThat(RecordCodec.of(Wide.class).decode(narrow)).isEqualTo(new Wide(-5));
        byte[] wide = RecordCodec.of(Wide.class).encode(new Wide(1L << 40));
        assertThatThrownBy(() -> RecordCodec.of(Narrow.class).decode(wide)).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> RecordCodec.of(Other.class).decode(wide))
                .hasMessageContaining("Other.views was written as another type");
    }

    @Test
    void zerosTakeNoRoom() {
        assertThat(RecordCodec.of(Visit.class).encode(new Visit(0, 0))).hasSize(2);
        assertThat(RecordCodec.of(Visit.class).encode(new Visit(1, 0))).hasSize(6);
    }

    record Bag(Set<String> names, Map<String, Long> counts) {}

    @Test
    void equalSetsAndMapsAreEqualBytes() {
        Map<String, Long> one = new LinkedHashMap<>();
        Map<String, Long> other = new LinkedHashMap<>();
        for (int i = 0; i < 50; i++) {
            one.put("k" + i, (long) i);
            other.put("k" + (49 - i), 49L - i);
        }
        var codec = RecordCodec.of(Bag.class);
        assertThat(codec.encode(new Bag(one.keySet(), one))).isEqualTo(codec.encode(new Bag(other.keySet(), other)));
    }

    @Test
    void damagedBytesAreRefusedAndNeverRunAway() {
        var codec = RecordCodec.of(Everything.class);
        var samples = Samples.of(Everything.class, "Everything");
        Seeds.of(2_000).run((seed, random) -> {
            byte[] bytes = codec.encode((Everything) samples.apply(random));
            byte[] damaged = Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
            for (int i = 0; i < 3 && damaged.length > 0; i++) {
                damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
            }
            try {
                codec.decode(damaged);
            } catch (RuntimeException e) {
                assertThat(e).isNotInstanceOfAny(NullPointerException.class, ClassCastException.class);
            }
        });
    }

    record Unknown(Object anything) {}

    record Itself(long a, Optional<Itself> next) {}

    @Test
    void typesThatItDoesNotKnowAreRefusedByName() {
        assertThatThrownBy(() -> RecordCodec.of(Unknown.class))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("Unknown.anything is of type java.lang.Object");
        assertThatThrownBy(() -> RecordCodec.of(Thread.class)).hasMessageContaining("java.lang.Thread");
        assertThatThrownBy(() -> RecordCodec.of(Itself.class)).hasMessageContaining("contains itself");
    }

    @Test
    void commonTypesNeedNoRecord() {
        assertThat(RecordCodec.of(Long.class).decode(RecordCodec.of(Long.class).encode(-7L)))
                .isEqualTo(-7);
        assertThat(RecordCodec.of(String.class)
                        .decode(RecordCodec.of(String.class).encode("text")))
                .isEqualTo("text");
        assertThatThrownBy(() -> RecordCodec.of(Long.class)
                        .decode(RecordCodec.of(String.class).encode("text")))
                .hasMessageContaining("which is no Long");
    }
}
