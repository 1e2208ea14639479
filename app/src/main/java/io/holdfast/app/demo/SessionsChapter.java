package io.holdfast.app.demo;

import io.holdfast.Why;
import io.holdfast.app.why.Whys;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.session.Sessions;
import io.holdfast.redis.session.SessionsBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** An instance is killed, and what it served is closed by another. */
final class SessionsChapter implements Chapter {

    private static final String ROOM = "room-17";

    static SessionsBuilder rooms(Holdfast holdfast) {
        return holdfast.sessions("rooms").lease(Duration.ofSeconds(1)).grace(Duration.ofMillis(500));
    }

    @Override
    public String title() {
        return "sessions: a session goes when nobody serves it, also when the one who did was killed";
    }

    @Override
    public void tell(Stage stage) throws Exception {
        List<String> closed = new CopyOnWriteArrayList<>();
        Whys whys = new Whys(stage.holdfast);
        try (Sessions here = rooms(stage.holdfast)
                        .onClose(claim -> closed.add(claim.id()))
                        .start();
                RedisLink link = stage.connect()) {
            Process other = stage.start(CrashingInstance.class, stage.holdfast.where(), ROOM);
            try (BufferedReader lines =
                    new BufferedReader(new InputStreamReader(other.getInputStream(), StandardCharsets.UTF_8))) {
                stage.claim(("serving " + ROOM).equals(lines.readLine()), "another process serves " + ROOM);
                stage.why(whys.ask("session:rooms/" + ROOM));
                other.destroyForcibly().waitFor();
            }
            long killed = System.nanoTime();
            stage.say("that process is killed with SIGKILL");
            boolean done = stage.await(() -> closed.contains(ROOM));
            double took = Stage.millis(System.nanoTime() - killed);
            stage.claim(
                    done && closed.size() == 1,
                    "its lease lapsed and this process closed the session, once, after " + Stage.number(took)
                            + " ms (lease 1 s, grace 0.5 s)");
            stage.await(() -> whys.ask("session:rooms/" + ROOM) instanceof Why.Gone);
            stage.why(whys.ask("session:rooms/" + ROOM));
            long counter = NaiveTree.count(link, ROOM, 0);
            stage.claim(counter == 1, "for comparison, a counter of instances says " + counter + ", now and for ever");
            stage.claim(here.figures().negatives() == 0, "no count was ever negative");
            stage.figure("closedAfterMillis", took);
            stage.figure("counterThatLeaks", counter);
        }
    }
}
