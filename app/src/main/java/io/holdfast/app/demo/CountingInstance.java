package io.holdfast.app.demo;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.Position;

/** An instance that adds visits, waits until they are durable, and is killed. */
public final class CountingInstance {

    private CountingInstance() {}

    /** @param arguments address of Redis, how many visits */
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        try (Holdfast holdfast = Holdfast.builder()
                        .uri(arguments[0])
                        .instance("instance-that-dies")
                        .open();
                Aggregates<Visits> visits = AggregatesChapter.visits(holdfast).start()) {
            for (int i = 0; i < count; i++) {
                visits.add("/home", new Visits(1, i), Position.at("visits", 1, i));
            }
            visits.publish();
            System.out.println("durable up to " + visits.durable("visits", 1).orElse(-1));
            System.out.flush();
            System.in.read();
        }
    }
}
