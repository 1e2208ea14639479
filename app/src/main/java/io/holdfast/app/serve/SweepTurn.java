package io.holdfast.app.serve;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.HolderId;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import java.time.Duration;
import java.util.List;

/** Whose turn it is to run the next cycle of an owner: one daemon's, when the interval has passed. */
final class SweepTurn {

    private static final Script TURN =
            Script.load(SweepTurn.class, "turn.lua", "meta", "operation holder lease interval", "status wait");

    private final RedisLink link;
    private final Keyspace keyspace;
    private final HolderId self;
    private final Duration lease;
    private final Duration interval;

    SweepTurn(RedisLink link, String owner, HolderId self, Duration lease, Duration interval) {
        this.link = link;
        this.keyspace = new Keyspace("sweep", owner, 0);
        this.self = self;
        this.lease = lease;
        this.interval = interval;
    }

    /** Zero: it is ours, until the lease lapses. Otherwise how long to wait before asking again. */
    Duration take() {
        return call("take");
    }

    /** Whether it is still ours; renews it. */
    boolean renew() {
        return call("renew").isZero();
    }

    void done() {
        call("done");
    }

    private Duration call(String operation) {
        Reply reply = link.call(
                TURN,
                List.of(keyspace.key("meta")),
                List.of(
                        ascii(operation),
                        ascii(self.toString()),
                        ascii(Long.toString(lease.toMillis())),
                        ascii(Long.toString(interval.toMillis()))));
        return reply.text(0).equals("OK") ? Duration.ZERO : Duration.ofMillis(Math.max(1, reply.number(1)));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }
}
