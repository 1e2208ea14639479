package io.holdfast.app.doctor;

import io.holdfast.redis.link.ServerFacts;
import java.time.Duration;
import java.util.List;

/** What a server's own account of itself means for Holdfast. */
final class RedisChecks {

    private static final Duration CLOCK_OFF = Duration.ofSeconds(1);
    private static final double SLOW_MILLIS = 5;
    private static final double VERY_SLOW_MILLIS = 100;
    private static final double NEARLY_FULL = 0.9;

    private RedisChecks() {}

    static List<Check> ofServer(ServerFacts facts, boolean embedded) {
        return List.of(version(facts), role(facts), evictionPolicy(facts), room(facts), persistence(facts, embedded));
    }

    static Check version(ServerFacts facts) {
        return facts.isTooOld()
                ? Check.problem("version", facts.product(), "upgrade to Redis 7.0 or newer, or to Valkey")
                : Check.ok("version", facts.product());
    }

    static Check role(ServerFacts facts) {
        String role = facts.fact("role");
        return role.equals("slave")
                ? Check.problem("role", "a replica, which takes no writes", "give the URI of its primary")
                : Check.ok("role", role.equals("master") ? "primary" : role);
    }

    static Check evictionPolicy(ServerFacts facts) {
        String policy = facts.evictionPolicy();
        if (facts.evictsOurKeys()) {
            return Check.problem(
                    "eviction policy",
                    policy + " deletes data that is still held",
                    "set maxmemory-policy to noeviction or volatile-*");
        }
        return Check.ok("eviction policy", policy);
    }

    static Check room(ServerFacts facts) {
        long used = number(facts, "used_memory");
        long most = number(facts, "maxmemory");
        if (most == 0) {
            return Check.ok("room", bytes(used) + " used, no limit set");
        }
        String found = bytes(used) + " used of " + bytes(most);
        return used > most * NEARLY_FULL
                ? Check.warning("room", found, "raise maxmemory: at the limit new data is refused")
                : Check.ok("room", found);
    }

    static Check persistence(ServerFacts facts, boolean embedded) {
        if (facts.fact("loading").equals("1")) {
            return Check.problem("persistence", "the server is still loading its data", "wait until it has");
        }
        if (facts.fact("aof_last_write_status").equals("err")
                || facts.fact("rdb_last_bgsave_status").equals("err")) {
            return Check.problem(
                    "persistence", "the last save failed", "see the server's log: disk full, or not permitted?");
        }
        if (facts.fact("aof_enabled").equals("1")) {
            return Check.ok("persistence", "append-only file");
        }
        if (embedded) {
            return Check.ok("persistence", "none: the embedded server was started to try out");
        }
        return Check.warning(
                "persistence",
                "no append-only file",
                "set appendonly yes, unless a restart may lose what changed since the last snapshot");
    }

    /** Leases are counted by the server's clock alone; a difference only makes records hard to read. */
    static Check clock(Duration serverAhead) {
        String found = serverAhead.abs().toMillis() + " ms " + (serverAhead.isNegative() ? "behind" : "ahead of")
                + " this machine";
        return serverAhead.abs().compareTo(CLOCK_OFF) > 0
                ? Check.warning("clock", "the server is " + found, "run a time service (NTP) on both")
                : Check.ok("clock", "the server is " + found);
    }

    static Check latency(double medianMillis, double worstMillis) {
        String found = "%.2f ms a script call, worst %.2f ms".formatted(medianMillis, worstMillis);
        if (medianMillis > VERY_SLOW_MILLIS) {
            return Check.problem("latency", found, "use a Redis that is nearer, or less busy");
        }
        return medianMillis > SLOW_MILLIS || worstMillis > VERY_SLOW_MILLIS
                ? Check.warning("latency", found, "look for slow commands (SLOWLOG), swapping, or a far network")
                : Check.ok("latency", found);
    }

    private static long number(ServerFacts facts, String name) {
        try {
            return Long.parseLong(facts.fact(name));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private static String bytes(long count) {
        return "%.1f MiB".formatted(count / 1048576.0);
    }
}
