package io.holdfast.bench.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class CourseTest {

    private static final int STEPS = 5_000;

    /** Steps of ten values and a millisecond each, some of them longer. */
    private static Course course(Map<Integer, Double> longer) {
        Course course = new Course();
        for (int i = 0; i < STEPS; i++) {
            course.add(longer.getOrDefault(i, 1.0), 10);
        }
        return course;
    }

    @Test
    void whatComesAtTheSamePlaceInMostRoundsRecurs() {
        assertThat(Course.recurring(List.of(
                        course(Map.of(2_000, 7.0)), course(Map.of(2_003, 8.0, 4_000, 9.0)), course(Map.of(10, 30.0)))))
                .isEqualTo(7.0);
    }

    @Test
    void whatComesElsewhereInEveryRoundDoesNot() {
        assertThat(Course.recurring(Stream.of(100, 2_000, 4_900)
                        .map(i -> course(Map.of(i, 9.0)))
                        .toList()))
                .isEqualTo(1.0);
    }

    @Test
    void aPlaceIsCountedInValuesNotInSteps() {
        Course slow = new Course(); // a machine on which every step does half as much, but one is as long
        for (int i = 0; i < 2 * STEPS; i++) {
            slow.add(i == 4_000 ? 7.0 : 1.0, 5);
        }
        assertThat(Course.recurring(List.of(course(Map.of(2_000, 7.0)), slow, course(Map.of()))))
                .isEqualTo(7.0);
    }

    /** In small graphs a step frees the values of several stretches, and not every round begins its steps at the same ones. */
    @Test
    void aStepIsInEveryStretchThatItGoesThrough() {
        List<Course> rounds = Stream.of(0, 250, 500)
                .map(first -> {
                    Course course = new Course();
                    course.add(1.0, first);
                    for (int freed = first; freed < 100_000; freed += 750) {
                        boolean freesIt = freed <= 60_100 && 60_100 < freed + 750;
                        course.add(freesIt ? 7.0 : 1.0, Math.min(750, 100_000 - freed));
                    }
                    return course;
                })
                .toList();
        assertThat(Course.recurring(rounds)).isEqualTo(7.0);
    }

    @Test
    void whatFreesNothingUntilItsEndIsOnePlace() {
        Course one = new Course();
        one.add(1.0, 0);
        one.add(3.0, 0);
        one.add(2.0, 1);
        assertThat(Course.recurring(List.of(one, one, course(Map.of())))).isEqualTo(3.0);
    }
}
