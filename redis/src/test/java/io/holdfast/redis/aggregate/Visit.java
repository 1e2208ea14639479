package io.holdfast.redis.aggregate;

/** What most tests add up. */
record Visit(long views, long seconds) {

    static Visit of(long views) {
        return new Visit(views, 0);
    }

    Visit merge(Visit other) {
        return new Visit(views + other.views, seconds + other.seconds);
    }
}
