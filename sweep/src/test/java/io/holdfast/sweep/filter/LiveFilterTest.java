package io.holdfast.sweep.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.HoldfastException;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LiveFilterTest {

    private static final int IDS = 400_000;

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 0.1, 0.03, 0.01, 0.001})
    void everyIdThatWasAddedIsFound(double rate) {
        long[] ids = fingerprints(1, 50_000);
        LiveFilter filter = filled(ids, rate, 7);
        for (int i = 0; i < ids.length; i += 2) {
            assertThat(filter.mayContain(ids[i], ids[i + 1])).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource({"0.3, 11", "0.1, 12", "0.1, 13", "0.03, 14", "0.01, 15", "0.003, 16"})
    void falsePositivesAreWithinATenthOfTheFormulaAndNeverAboveThePromise(double rate, long seed) {
        LiveFilter filter = filled(fingerprints(seed, IDS), rate, seed);
        double measured = passing(filter, fingerprints(seed + 1000, 2_000_000));
        double expected = filter.geometry().expectedRate(IDS);
        assertThat(measured).isCloseTo(expected, within(expected / 10));
        assertThat(measured).isLessThanOrEqualTo(rate);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 10, 100, 1_000, 10_000})
    void smallFiltersKeepThePromiseOnTheAverage(int ids) {
        double sum = 0;
        int rounds = 100_000 / Math.max(ids, 100);
        for (int round = 0; round < rounds; round++) {
            LiveFilter filter = filled(fingerprints(round, ids), 0.1, round);
            sum += passing(filter, fingerprints(-1 - round, 2_000));
        }
        assertThat(sum / rounds).isLessThanOrEqualTo(0.1);
    }

    @Test
    void survivalOverTwoCyclesIsTheProductOfTheTwoRates() {
        long[] live = fingerprints(21, IDS);
        LiveFilter first = filled(live, 0.1, 0x1234);
        LiveFilter second = filled(live, 0.1, 0x1235);
        long[] garbage = fingerprints(22, 4_000_000);
        long both = 0;
        for (int i = 0; i < garbage.length; i += 2) {
            if (first.mayContain(garbage[i], garbage[i + 1]) && second.mayContain(garbage[i], garbage[i + 1])) {
                both++;
            }
        }
        double product = first.geometry().expectedRate(IDS) * second.geometry().expectedRate(IDS);
        assertThat(both / (garbage.length / 2.0)).isCloseTo(product, within(product / 10));
    }

    @Test
    void tenPercentCostAtMostFivePointThreeBitsAnId() {
        for (long ids : new long[] {100_000, 350_000, 10_000_000, 1_000_000_000}) {
            FilterGeometry geometry = FilterGeometry.forRate(ids, 0.1);
            assertThat(geometry.bytes() * 8.0 / ids).isLessThanOrEqualTo(5.3);
            assertThat(geometry.expectedRate(ids)).isLessThanOrEqualTo(0.1);
        }
    }

    @Test
    void bytesDependOnTheSetOfIdsAloneNotOnOrderRepeatsOrBatches() {
        long[] ids = fingerprints(5, 20_000);
        for (double rate : new double[] {0.1, 0.01}) {
            FilterGeometry geometry = FilterGeometry.forRate(20_000, rate);
            LiveFilter forwards = LiveFilter.empty(geometry, 99);
            forwards.addAll(ids, 0, ids.length);
            LiveFilter backwards = LiveFilter.empty(geometry, 99);
            for (int i = ids.length - 2; i >= 0; i -= 2) {
                backwards.add(ids[i], ids[i + 1]);
                backwards.add(ids[i], ids[i + 1]);
            }
            LiveFilter batches = LiveFilter.empty(geometry, 99);
            for (int i = 0; i < ids.length; i += 246) {
                batches.addAll(ids, i, Math.min(ids.length, i + 246));
            }
            assertThat(FilterFormat.digest(backwards)).isEqualTo(FilterFormat.digest(forwards));
            assertThat(FilterFormat.digest(batches)).isEqualTo(FilterFormat.digest(forwards));
            assertThat(FilterFormat.digest(filled(ids, rate, 100))).isNotEqualTo(FilterFormat.digest(forwards));
        }
    }

    @Test
    void freshIsALowerBoundOfTheDifferentIds() {
        long[] ids = fingerprints(6, 30_000);
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(30_000, 0.1), 1);
        int fresh = filter.addAll(ids, 0, ids.length);
        assertThat(fresh).isBetween(28_500, 30_000);
        assertThat(filter.addAll(ids, 0, ids.length)).isZero();
        assertThat(filter.add(ids[0], ids[1])).isFalse();
    }

    @Test
    void emptyFilterAnswersToNothing() {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(0, 0.1), 3);
        assertThat(filter.isEmpty()).isTrue();
        assertThat(passing(filter, fingerprints(1, 1_000))).isZero();
        filter.add(Fingerprint.of(new byte[] {1}));
        assertThat(filter.isEmpty()).isFalse();
    }

    /** The bits of version 1 are fixed for good, as the fingerprints are. */
    @Test
    void knownAnswersOfBothCuts() {
        LiveFilter coarse = LiveFilter.empty(new FilterGeometry(FilterGeometry.COARSE, 3), 42);
        LiveFilter fine = LiveFilter.empty(new FilterGeometry(FilterGeometry.FINE, 3), 42);
        for (byte b = 0; b < 10; b++) {
            coarse.add(Fingerprint.of(new byte[] {b}));
            fine.add(Fingerprint.of(new byte[] {b}));
        }
        assertThat(HexFormat.of().formatHex(FilterFormat.digest(coarse)))
                .isEqualTo("53929f1d553a144a6df017e9a8a00eef8d4cb47fcad1bc77f46999241e03fcda");
        assertThat(HexFormat.of().formatHex(FilterFormat.digest(fine)))
                .isEqualTo("49ae9589f02ef8a38aacc7edf24f9843cc9e6a2dd0ec16fd081f00594844fdd1");
        assertThat(LiveFilter.VERSION).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"3, 10", "4, 0", "4, -1", "8, 2000000000", "0, 1"})
    void impossibleGeometriesAreRefused(int words, int blocks) {
        assertThatThrownBy(() -> new FilterGeometry(words, blocks)).isInstanceOf(HoldfastException.class);
    }

    @ParameterizedTest
    @CsvSource({"100, 0", "100, 0.6", "100, NaN", "-1, 0.1", "1000000000000, 0.1"})
    void impossiblePromisesAreRefused(long ids, double rate) {
        assertThatThrownBy(() -> FilterGeometry.forRate(ids, rate)).isInstanceOf(HoldfastException.class);
    }

    static long[] fingerprints(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        long[] ids = new long[2 * count];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = random.nextLong();
        }
        return ids;
    }

    static LiveFilter filled(long[] ids, double rate, long seed) {
        LiveFilter filter = LiveFilter.empty(FilterGeometry.forRate(ids.length / 2, rate), seed);
        filter.addAll(ids, 0, ids.length);
        return filter;
    }

    private static double passing(LiveFilter filter, long[] ids) {
        long passed = 0;
        for (int i = 0; i < ids.length; i += 2) {
            passed += filter.mayContain(ids[i], ids[i + 1]) ? 1 : 0;
        }
        return passed / (ids.length / 2.0);
    }
}
