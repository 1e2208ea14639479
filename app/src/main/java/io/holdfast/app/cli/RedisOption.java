package io.holdfast.app.cli;

import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisUri;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which Redis a command is about: the option, or else the setting {@code redis.uri}. Mixed into every such command. */
public final class RedisOption {

    @Option(
            names = "--redis",
            paramLabel = "URI",
            order = 90,
            description = "The Redis to use; without it the setting redis.uri, which is localhost, port 6379.")
    private @Nullable String redis;

    /** The settings of this process, with the address that was given. A wrong one is refused. */
    public Settings settings() {
        Settings settings = Settings.ofProcess();
        if (redis != null) {
            RedisUri.parse(redis);
            settings.set(LinkSettings.URI, redis);
        }
        return settings;
    }

    public String uri() {
        return settings().get(LinkSettings.URI);
    }

    /** A connection for a short question. */
    public RedisLink link() {
        return RedisLink.connect(settings());
    }
}
