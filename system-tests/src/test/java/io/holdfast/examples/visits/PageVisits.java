package io.holdfast.examples.visits;

import java.time.Instant;
import java.util.Map;

/** What is known of the visits to a page: how many, how long in all, and the longest one. */
record PageVisits(long visits, long seconds, long longest) {

    /** One message of the stream. */
    static PageVisits of(Map<String, String> message) {
        long seconds = Long.parseLong(message.getOrDefault("seconds", "0"));
        return new PageVisits(1, seconds, seconds);
    }

    static Instant time(Map<String, String> message) {
        return Instant.ofEpochMilli(Long.parseLong(message.getOrDefault("at", "0")));
    }

    PageVisits merge(PageVisits other) {
        return new PageVisits(visits + other.visits, seconds + other.seconds, Math.max(longest, other.longest));
    }
}
