package io.holdfast;

/**
 * What a step, or many of them, did: how many things it looked at, and what became of them.
 *
 * @param spared looked at and kept
 * @param failed looked at, and an error kept it from deciding
 */
public record ReclaimSummary(long examined, long reclaimed, long spared, long failed) {

    public static final ReclaimSummary NOTHING = new ReclaimSummary(0, 0, 0, 0);

    public ReclaimSummary {
        if (reclaimed < 0 || spared < 0 || failed < 0 || reclaimed + spared + failed > examined) {
            throw new IllegalArgumentException("examined " + examined + " is less than reclaimed " + reclaimed
                    + " + spared " + spared + " + failed " + failed);
        }
    }

    public ReclaimSummary plus(ReclaimSummary other) {
        return new ReclaimSummary(
                examined + other.examined, reclaimed + other.reclaimed, spared + other.spared, failed + other.failed);
    }
}
