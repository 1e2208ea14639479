package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.Settings;
import io.holdfast.redis.link.RedisLink.Outcome;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.Response;

/**
 * Waits until replicas have what the calls before it wrote, and what they read.
 *
 * <p>WAIT counts from the last write of its own connection (in Redis 7.0 from the last write of any). A call that writes nothing
 * may still report what an earlier call wrote on another connection: the repeat of a call that got no answer does. So a small
 * write precedes each WAIT on its connection, and is the last one of all that the calls can have seen. In a cluster each server
 * has a wait of its own, as calls to several servers share no pipeline.
 *
 * @param wanted how many replicas must have it
 */
record Replicas(int wanted, long patienceMillis) {

    /** A write without meaning, under the tag of the shard that was called. */
    static final Script FENCE = Script.load(Replicas.class, "fence.lua", "fence", "", "status");

    static @Nullable Replicas of(Settings settings) {
        int wanted = settings.get(LinkSettings.WAIT_REPLICAS);
        return wanted == 0
                ? null
                : new Replicas(wanted, settings.get(LinkSettings.TIMEOUT).toMillis() / 2);
    }

    /** What a pipeline was sent last. */
    record Wait(Response<Object> fence, Response<Object> replicas) {

        /** How many replicas have it. */
        long acknowledged() {
            fence.get();
            return (Long) replicas.get();
        }
    }

    /** Lets a pipeline wait for what stands in it already; the key is one of the server that it goes to. */
    Wait waitIn(AbstractPipeline pipeline, byte[] key) {
        CommandArguments fence = new CommandArguments(Protocol.Command.EVALSHA)
                .add(FENCE.sha())
                .add(1)
                .key(fenceFor(key));
        CommandArguments wait =
                new CommandArguments(Protocol.Command.WAIT).add(wanted).add(patienceMillis);
        return new Wait(pipeline.sendCommand(fence), pipeline.sendCommand(wait));
    }

    /** A key in the same slot of a cluster. */
    static byte[] fenceFor(byte[] key) {
        String text = new String(key, UTF_8);
        int end = text.indexOf('}');
        return ((end < 0 ? "{" + text + "}" : text.substring(0, end + 1)) + ":fence").getBytes(UTF_8);
    }

    /** What a call that was done comes to. */
    Outcome outcome(Reply reply, long acknowledged) {
        return acknowledged >= wanted
                ? new Outcome(reply, null)
                : Outcome.notReplicated(
                        reply,
                        "done, but only " + acknowledged + " of " + wanted + " replicas have it after " + patienceMillis
                                + " ms");
    }

    /** The reply of a call that was done, and that too few replicas have. */
    static final class NotReplicated extends Exception {
        private static final long serialVersionUID = 1;

        final transient Reply reply;

        NotReplicated(Reply reply) {
            super("not replicated", null, false, false);
            this.reply = reply;
        }
    }
}
