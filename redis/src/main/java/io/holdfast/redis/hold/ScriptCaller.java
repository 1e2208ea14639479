package io.holdfast.redis.hold;

import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import java.time.Duration;
import java.util.List;

/** How scripts are called: by the link, or by a test that loses, delays and repeats calls. */
public interface ScriptCaller {

    Reply call(Call call);

    List<Outcome> callAll(List<Call> calls);

    /** How long one call waits for its reply at most. */
    default Duration timeout() {
        return LinkSettings.TIMEOUT.defaultValue();
    }

    static ScriptCaller by(RedisLink link) {
        return new ScriptCaller() {
            @Override
            public Reply call(Call call) {
                return link.call(call);
            }

            @Override
            public List<Outcome> callAll(List<Call> calls) {
                return link.callAll(calls);
            }

            @Override
            public Duration timeout() {
                return link.timeout();
            }
        };
    }
}
