package io.holdfast.app.serve;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisUri;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/** The client that the other parts work with. */
final class RedisPart extends Part {

    private final Settings settings;
    private final DaemonMeters meters;
    private volatile @Nullable Holdfast holdfast;

    RedisPart(Settings settings, DaemonMeters meters) {
        super("redis");
        this.settings = settings;
        this.meters = meters;
        RedisUri.parse(settings.get(LinkSettings.URI));
    }

    /** The client; RETRY as long as there is none. */
    Holdfast client() {
        Holdfast open = holdfast;
        if (open == null) {
            throw new HoldfastException(
                    HoldfastException.Category.RETRY, "Redis is not reached yet", "it is tried again and again", null);
        }
        return open;
    }

    @Override
    void start() {
        Holdfast opened = Holdfast.builder(settings).open();
        opened.onReclaimed(meters::reclaimed);
        holdfast = opened;
    }

    @Override
    String look() {
        client().link().command(Command.HLEN, new Keyspace("sweep", "none", 0).key("meta"));
        return client().where() + " as " + client().self();
    }

    @Override
    void stop() {
        closeQuietly(holdfast);
    }
}
