package io.holdfast.sweep.node;

/** What a node says to a cycle after it examined its pieces. */
public enum Verdict {
    /** It may trash what it found. */
    READY(false),
    /** The first cycle of this owner here: it only reports. */
    FIRST_CYCLE(true),
    /** The catalogue is not the one it was, as after a restored backup: it only reports until an operator approves. */
    OTHER_CATALOGUE(true),
    /** The filter is empty: to the catalogue nothing here is live. */
    EMPTY_FILTER(true),
    /** More than the brake allows in its rolling window. */
    BRAKED(true),
    /** Fewer of the live pieces are here than the catalogue says: ids or names do not mean the same on both sides. */
    TOO_FEW_HITS(false);

    private final boolean approvable;

    Verdict(boolean approvable) {
        this.approvable = approvable;
    }

    /** Whether an operator's approval lets it go on. */
    public boolean approvable() {
        return approvable;
    }
}
