package io.holdfast.redis.hold;

/** The first word of a script's answer. */
enum Status {
    OK,
    /** The lease is gone: it lapsed, was given up, or the store lost it. */
    LAPSED,
    /** The call is older than one that the shard has already seen, or the token is not the current one. */
    STALE,
    /** A lease was to be taken too long ago. */
    LATE,
    /** The shard is not open: the store lost it, or it never was. */
    CLOSED,
    /** The shard was made with other figures. */
    DIFFERS,
    /** Deadlines prove nothing at the moment. */
    QUIET,
    /** An operator has paused the set. */
    PAUSED,
    GONE,
    HELD,
    /** A newer life of the thing is open. */
    SERVED,
    FULL,
    BUSY,
    /** The claim is no more: what it was for is finished. */
    ALREADY,
    /** Became a dead letter. */
    DEAD,
    /** Nothing is torn. */
    SOUND,
    /** The rebuild goes on with the next call. */
    MORE,
    /** The caller rebuilds what is his, and finishes. */
    REST,
    /** The shard is rebuilt. */
    DONE
}
