package io.holdfast.bench.link;

import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Script;
import java.net.URI;
import java.util.List;

/** Our own link, with its default settings but for the number of connections, which is the same for all pools. */
final class HoldfastContender implements LinkContender {

    private final RedisLink link;
    private final Script script;

    HoldfastContender(URI server, int connections, Script script) {
        this.script = script;
        link = RedisLink.connect(
                Settings.none().set(LinkSettings.URI, server.toString()).set(LinkSettings.CONNECTIONS, connections));
    }

    @Override
    public String name() {
        return "holdfast";
    }

    @Override
    public Object call(byte[] key, List<byte[]> arguments) {
        return link.call(script, List.of(key), arguments);
    }

    @Override
    public void batch(byte[] key, List<List<byte[]>> calls) {
        List<byte[]> keys = List.of(key);
        link.callAll(calls.stream()
                        .map(arguments -> new RedisLink.Call(script, keys, arguments))
                        .toList())
                .forEach(RedisLink.Outcome::get);
    }

    @Override
    public void close() {
        link.close();
    }
}
