package io.holdfast.app.demo;

/** What is added up in the demo. */
public record Visits(long visits, long longestMillis) {

    /** Both together. */
    public static Visits merge(Visits one, Visits other) {
        return new Visits(one.visits + other.visits, Math.max(one.longestMillis, other.longestMillis));
    }
}
