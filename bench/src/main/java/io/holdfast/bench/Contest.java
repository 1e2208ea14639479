package io.holdfast.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Contenders measured by turns. One round measures each of them once; the rounds begin with another contender each
 * time, so that whatever the machine does meanwhile falls on all of them. What counts is the median over the rounds. The
 * first round warms up and is not counted.
 */
public final class Contest {

    /** Measures one contender once. */
    public interface Contender {
        Measurement measure() throws Exception;
    }

    private final Map<String, Contender> contenders = new LinkedHashMap<>();

    public Contest add(String name, Contender contender) {
        contenders.put(name, contender);
        return this;
    }

    public Results run(int rounds) throws Exception {
        Map<String, List<Measurement>> measured = new LinkedHashMap<>();
        List<Map.Entry<String, Contender>> turns = new ArrayList<>(contenders.entrySet());
        for (int round = 0; round <= rounds; round++) {
            for (Map.Entry<String, Contender> turn : turns) {
                Measurement measurement = turn.getValue().measure();
                if (round > 0) {
                    measured.computeIfAbsent(turn.getKey(), key -> new ArrayList<>())
                            .add(measurement);
                }
            }
            Collections.rotate(turns, -1);
        }
        return new Results(measured);
    }

    /** All rounds of all contenders. */
    public record Results(Map<String, List<Measurement>> measured) {

        public double median(String contender, ToDoubleFunction<Measurement> figure) {
            List<Measurement> rounds = measured.get(contender);
            if (rounds == null) {
                throw new IllegalArgumentException(contender + " is none of " + measured.keySet());
            }
            return Contest.median(rounds.stream().mapToDouble(figure).toArray());
        }
    }

    /** The middle one, or the mean of the two in the middle. */
    public static double median(double... figures) {
        double[] sorted = figures.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
}
