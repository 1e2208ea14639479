package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.net.SocketTimeoutException;
import java.util.Map;
import redis.clients.jedis.exceptions.JedisBroadcastException;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisRedirectionException;

/** What went wrong between us and Redis, as a category that says what the caller should do. */
final class RedisFailures {

    /** The first word of an error reply, and what it means for the caller. */
    private static final Map<String, Category> BY_WORD = Map.ofEntries(
            Map.entry("LOADING", Category.RETRY),
            Map.entry("BUSY", Category.RETRY),
            Map.entry("TRYAGAIN", Category.RETRY),
            Map.entry("MOVED", Category.RETRY),
            Map.entry("ASK", Category.RETRY),
            Map.entry("CLUSTERDOWN", Category.RETRY),
            Map.entry("MASTERDOWN", Category.RETRY),
            Map.entry("READONLY", Category.RETRY),
            Map.entry("NOREPLICAS", Category.RETRY),
            Map.entry("NOSCRIPT", Category.RETRY),
            Map.entry("UNKILLABLE", Category.RETRY),
            Map.entry("TORN", Category.RETRY),
            Map.entry("OOM", Category.FULL),
            Map.entry("MISCONF", Category.FULL),
            Map.entry("WRONGPASS", Category.MISUSE),
            Map.entry("NOPERM", Category.MISUSE),
            Map.entry("NOPROTO", Category.MISUSE),
            Map.entry("WRONGTYPE", Category.CORRUPT));

    private static final String BECAUSE = "EXECABORT Transaction discarded because of: ";

    private RedisFailures() {}

    /** Whether a script found that an earlier one was torn, and did nothing. */
    static boolean isTorn(HoldfastException failure) {
        return failure.getCause() instanceof JedisDataException reply
                && String.valueOf(reply.getMessage()).startsWith("TORN ");
    }

    static HoldfastException of(String doing, JedisException failure) {
        return switch (failure) {
            case JedisRedirectionException e -> retry(doing, "the cluster is moving this slot", e);
            case JedisConnectionException e -> ofConnection(doing, e);
            case JedisClusterOperationException e -> retry(doing, "the cluster has no server for it now", e);
            case JedisBroadcastException e -> retry(doing, "not every server of the cluster answered", e);
            case JedisDataException e -> ofReply(doing, e);
            default -> retry(doing, lineOf(failure), failure);
        };
    }

    private static HoldfastException ofConnection(String doing, JedisConnectionException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SocketTimeoutException) {
                return retry(doing, "no answer within the time-out", failure);
            }
        }
        return retry(doing, lineOf(failure), failure);
    }

    private static HoldfastException ofReply(String doing, JedisDataException failure) {
        String reply = String.valueOf(failure.getMessage());
        // A server with a password says NOAUTH, and names HELLO too.
        if (reply.contains("HELLO")
                && !reply.startsWith("NOAUTH")) { // the first thing that a client says, unknown before Redis 6
            return new HoldfastException(
                    Category.MISUSE,
                    doing + ": the server is older than Redis 6",
                    "upgrade to Redis 7 or newer, or to Valkey",
                    failure);
        }
        if (reply.startsWith("NOAUTH")) {
            return new HoldfastException(
                    Category.MISUSE,
                    doing + ": the server wants a password",
                    "give user and password in the URI: redis://user:password@host",
                    failure);
        }
        if (reply.contains("max number of clients")) {
            return new HoldfastException(
                    Category.RETRY,
                    doing + ": the server has as many clients as it allows",
                    "raise maxclients of the server, or lower redis.connections of its clients",
                    failure);
        }
        int because = reply.indexOf(BECAUSE); // a transaction that was refused as a whole says why further on
        String reason = because < 0 ? reply : reply.substring(because + BECAUSE.length());
        // A command that a script may not run, in the words of Redis 7.0, and of Redis 8 and Valkey 8.
        boolean forbidden =
                reason.contains("user executing the script can't") || reason.contains("ACL failure in script");
        String word = forbidden ? "NOPERM" : reason.split("[ :\\r\\n]", 2)[0];
        Category category = BY_WORD.get(word);
        if (category == null) {
            // An error that a script of ours raised, or data that it did not expect.
            category = reply.contains("unknown command") ? Category.MISUSE : Category.CORRUPT;
        }
        String action = switch (word) {
            case "OOM" -> "raise maxmemory, or release something and let the duties reclaim it";
            case "MISCONF" -> "make the server able to save again (disk full?), see its log";
            case "WRONGPASS" -> "give user and password in the URI: redis://user:password@host";
            case "NOPERM" -> "grant the commands and keys that docs/operating.md lists";
            default -> category.action();
        };
        return new HoldfastException(category, doing + ": Redis answered " + firstLine(reply), action, failure);
    }

    private static HoldfastException retry(String doing, String why, Throwable cause) {
        return new HoldfastException(Category.RETRY, doing + ": " + why, cause);
    }

    /** The innermost message that says something; one line. */
    private static String lineOf(Throwable failure) {
        String line = String.valueOf(failure.getMessage());
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            if (cause.getMessage() != null) {
                line = cause.getMessage();
            }
        }
        return firstLine(line);
    }

    private static String firstLine(String text) {
        int end = text.indexOf('\n');
        return (end < 0 ? text : text.substring(0, end)).strip();
    }
}
