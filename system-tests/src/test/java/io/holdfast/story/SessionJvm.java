package io.holdfast.story;

import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.testkit.ChildJvm;

/** An instance that serves a session which owns a snapshot; it is killed. */
final class SessionJvm {

    private SessionJvm() {}

    /** @param arguments address of Redis, name of the session */
    public static void main(String[] arguments) throws Exception {
        try (Holdfast holdfast =
                Holdfast.builder().uri(arguments[0]).instance("reader-instance").open()) {
            SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs");
            Sessions readers = LifetimeStoryIT.sessions(holdfast)
                    .onClose(snapshots::release)
                    .onRegained(snapshots::moveOn)
                    .start();
            Aggregates<Edits> edits = LifetimeStoryIT.edits(holdfast).start();
            edits.add("document 7", new Edits(3));
            edits.publish(); // from now on they are durable, whatever becomes of this process
            try (SessionHold hold = readers.acquire(arguments[1])) {
                try (Snapshot snapshot = snapshots.take(hold, "main")) {
                    ChildJvm.say("owns " + snapshot.target());
                } // done with reading; the session owns it on
                ChildJvm.sayReady();
                System.in.read(); // until it is killed
            }
        }
    }
}
