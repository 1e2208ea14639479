package io.holdfast.bench.graph;

import io.holdfast.bench.Contest;
import java.util.ArrayList;
import java.util.List;

/**
 * How long each step took on the way through a graph that is reclaimed.
 *
 * <p>What belongs to the graph comes at the same place whenever the same graph is reclaimed: a table that is given back, a value
 * with many children. What the machine takes comes anywhere. So the way is cut into stretches of equally many values; of each
 * stretch counts the median of what its longest step took in every round, and the longest of these is what recurs. A step that goes
 * through several stretches counts in each of them.
 */
final class Course {

    private static final int STRETCHES = 500;

    private record Step(long freedBefore, long values, double millis) {}

    private final List<Step> steps = new ArrayList<>();
    private long freed;

    /** A step that took so long and freed so many values. */
    void add(double millis, long values) {
        steps.add(new Step(freed, values, millis));
        freed += values;
    }

    private double[] longestByStretch() {
        double[] longest = new double[STRETCHES];
        for (Step step : steps) {
            int last = stretchOf(step.freedBefore() + Math.max(0, step.values() - 1));
            for (int stretch = stretchOf(step.freedBefore()); stretch <= last; stretch++) {
                longest[stretch] = Math.max(longest[stretch], step.millis());
            }
        }
        return longest;
    }

    private int stretchOf(long value) {
        return (int) Math.min(STRETCHES - 1, value * STRETCHES / Math.max(1, freed));
    }

    /** The longest step, in milliseconds, that came in the same stretch in most of the rounds. */
    static double recurring(List<Course> rounds) {
        List<double[]> byRound = rounds.stream().map(Course::longestByStretch).toList();
        double longest = 0;
        for (int stretch = 0; stretch < STRETCHES; stretch++) {
            int here = stretch;
            longest = Math.max(
                    longest,
                    Contest.median(
                            byRound.stream().mapToDouble(round -> round[here]).toArray()));
        }
        return longest;
    }
}
