package io.holdfast.bench;

import com.google.gson.annotations.SerializedName;
import org.jspecify.annotations.Nullable;

/**
 * One line of a measurement.
 *
 * @param direction which way is better
 * @param ratio holdfast / baseline
 * @param goal what the ratio should reach (the value itself where there is no baseline); null where it is only reported
 * @param met whether it does
 */
public record Row(
        String name,
        String unit,
        Direction direction,
        double holdfast,
        @Nullable Double baseline,
        @Nullable String baselineName,
        @Nullable Double ratio,
        @Nullable Double goal,
        @Nullable Boolean met) {

    /** In JSON by its word in lower case, as {@code bench/run --json=FILE} writes it. */
    public enum Direction {
        @SerializedName("higher")
        HIGHER,
        @SerializedName("lower")
        LOWER
    }

    /** Beside a peer, without a goal. */
    public static Row compared(
            String name, String unit, Direction direction, double holdfast, double baseline, String baselineName) {
        return new Row(name, unit, direction, holdfast, baseline, baselineName, holdfast / baseline, null, null);
    }

    /** Alone, without a goal. */
    public static Row reported(String name, String unit, Direction direction, double holdfast) {
        return new Row(name, unit, direction, holdfast, null, null, null, null, null);
    }

    /** The same row with a goal for its ratio, or for its value where there is no baseline. */
    public Row goal(double goal) {
        double reached = ratio == null ? holdfast : ratio;
        boolean met = direction == Direction.HIGHER ? reached >= goal : reached <= goal;
        return new Row(name, unit, direction, holdfast, baseline, baselineName, ratio, goal, met);
    }
}
