package io.holdfast.app.demo;

import io.holdfast.redis.Holdfast;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;

/** An instance that serves a session, and counts itself, and is killed. */
public final class CrashingInstance {

    private CrashingInstance() {}

    /** @param arguments address of Redis, session */
    public static void main(String[] arguments) throws Exception {
        try (Holdfast holdfast = Holdfast.builder()
                        .uri(arguments[0])
                        .instance("instance-that-dies")
                        .open();
                Sessions rooms = SessionsChapter.rooms(holdfast).start();
                SessionHold hold = rooms.acquire(arguments[1])) {
            NaiveTree.count(holdfast.link(), arguments[1], 1);
            System.out.println("serving " + hold.id());
            System.out.flush();
            System.in.read();
        }
    }
}
