package io.holdfast.sweep.retain;

/**
 * Who answers for a filter. No single worker may both trash a piece and confirm that it is garbage, so a piece is deleted for
 * good only if the filters of its two cycles are independent.
 *
 * @param by empty, "agreed", or who built the filter alone: "certificate …", "key …", "host …"
 */
public record Built(String by) {

    /** Two workers have the same bytes, or the manager built it itself, or an operator lets it believe one worker. */
    public static final Built AGREED = new Built("agreed");

    /** Built alone by a worker that proved nothing, or before it was written down who builds. */
    public static final Built BY_SOMEBODY = new Built("");

    private static final int TEXT_MAX = 512;

    public Built {
        by = by.substring(0, Math.min(by.length(), TEXT_MAX));
    }

    /** Whether one worker alone cannot have made both. */
    public boolean isIndependentOf(Built other) {
        boolean known = !equals(BY_SOMEBODY) && !other.equals(BY_SOMEBODY);
        return equals(AGREED) || other.equals(AGREED) || (known && !equals(other));
    }
}
