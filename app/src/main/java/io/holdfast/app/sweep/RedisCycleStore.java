package io.holdfast.app.sweep;

import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Reply;
import io.holdfast.redis.link.Script;
import io.holdfast.sweep.manager.CycleStore;
import io.holdfast.sweep.piece.OwnerId;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/** The log of cycles in Redis, for managers on several hosts. One key an owner. */
public final class RedisCycleStore implements CycleStore {

    private static final Script LOG =
            Script.load(RedisCycleStore.class, "cycle-log.lua", "log", "change expected next", "set log");

    private final RedisLink link;

    public RedisCycleStore(RedisLink link) {
        this.link = link;
    }

    @Override
    public Optional<String> read(OwnerId owner) {
        String log = call(owner, "no", "", "").text(1);
        return log.isEmpty() ? Optional.empty() : Optional.of(log);
    }

    /** A repeat of a call whose answer was lost finds its own text there, which is as good. */
    @Override
    public boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) {
        Reply reply = call(owner, "yes", expected.orElse(""), next);
        return reply.number(0) == 1 || reply.text(1).equals(next);
    }

    private Reply call(OwnerId owner, String change, String expected, String next) {
        return link.call(
                LOG,
                List.of(new Keyspace("cycles", owner.name(), 0).key("log")),
                List.of(bytes(change), bytes(expected), bytes(next)));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
