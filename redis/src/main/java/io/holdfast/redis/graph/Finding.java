package io.holdfast.redis.graph;

/**
 * One thing that verify found wrong.
 *
 * @param thing the value, root or lease, as people would name it
 * @param detail what was found, and what should be there
 * @param repairable whether repair would mend it
 */
public record Finding(Kind kind, String thing, String detail, boolean repairable) {

    /** What can be wrong with a graph. */
    public enum Kind {
        /** Nothing holds the value, and nothing is going to reclaim it. */
        LEAK("repair gives it to the cascade"),
        /** The count is higher than the holds are: the value would never be reclaimed. */
        OVERCOUNT("repair corrects the count"),
        /** The count is lower than the holds are: the value would be reclaimed while it is held. */
        UNDERCOUNT("repair corrects the count; do it before anything is dropped"),
        /** A value that has children has no count: whoever gives it up would forget its children. */
        UNCOUNTED("repair writes the count; do it before anything is dropped"),
        /** A value names a child that is not there. */
        DANGLING_EDGE("data is lost: put the parent anew from a good source, then drop this one"),
        /** A root names a value that is not there. */
        EMPTY_ROOT("data is lost: set the root to a good value, or drop it"),
        /** A lease holds a value that is not there. */
        EMPTY_HOLD("repair removes the hold"),
        /** A count that belongs to no value. */
        ORPHAN_COUNT("repair removes it"),
        /** Edges that belong to no value. */
        ORPHAN_EDGES("repair removes them and releases what they held"),
        /** A chunk that belongs to no large value. */
        ORPHAN_CHUNK("repair removes it"),
        /** A large value lacks one of its chunks. */
        MISSING_CHUNK("data is lost: put the value anew from a good source, then drop this one"),
        /** Values are held in the name of a lease that nobody knows. */
        UNKNOWN_LEASE("repair releases what it holds"),
        /** A lease has no deadline: it could neither be renewed nor lapse. */
        ENDLESS_LEASE("repair gives it a deadline, its length from now"),
        /** A doomed value that is not in the work list: nothing would reclaim it. */
        UNLISTED("repair puts it into the work list"),
        /** Values that hold each other in a circle, and nothing else holds them. */
        CYCLE("it cannot be made by any call of Holdfast: export what you need, then destroy the graph"),
        /** The neighbour of a value in a line does not know it: nobody can tell what the two hold together. */
        BROKEN_LINE(
                "repair takes that neighbour from it and counts its children once more, to be safe; repair again after"
                        + " that"),
        /** An entry that is not in the form that this version writes. */
        UNREADABLE("look at it by hand: it was not written by Holdfast");

        private final String action;

        Kind(String action) {
            this.action = action;
        }

        /** What to do about it. */
        public String action() {
            return action;
        }
    }
}
