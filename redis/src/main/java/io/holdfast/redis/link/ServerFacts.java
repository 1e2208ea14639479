package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import java.util.HashMap;
import java.util.Map;

/** What a server says of itself, read from INFO, since managed services block CONFIG. */
public record ServerFacts(Map<String, String> info) {

    private static final int OLDEST_MAJOR = 7;

    static ServerFacts parse(String info) {
        Map<String, String> facts = new HashMap<>();
        for (String line : info.lines().toList()) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                facts.put(line.substring(0, colon), line.substring(colon + 1));
            }
        }
        return new ServerFacts(Map.copyOf(facts));
    }

    /** {@code Redis 7.0.15} or {@code Valkey 8.1.0}. */
    public String product() {
        String valkey = info.get("valkey_version");
        return valkey != null ? "Valkey " + valkey : "Redis " + version();
    }

    /** The version of the Redis protocol and commands; Valkey says the one it is compatible with. */
    public String version() {
        return fact("redis_version");
    }

    /** Changes whenever the process behind the address is another one. */
    public String runId() {
        return fact("run_id");
    }

    public String evictionPolicy() {
        return fact("maxmemory_policy");
    }

    public String fact(String name) {
        return info.getOrDefault(name, "unknown");
    }

    public boolean isTooOld() {
        String version = version();
        int dot = version.indexOf('.');
        try {
            return Integer.parseInt(dot < 0 ? version : version.substring(0, dot)) < OLDEST_MAJOR;
        } catch (NumberFormatException e) {
            return true;
        }
    }

    /** Whether the server may delete any key it likes when memory is short. */
    public boolean evictsOurKeys() {
        return evictionPolicy().startsWith("allkeys");
    }

    /** Refuses a server on which data could disappear behind our back, or whose scripts lack what ours need. */
    void check(String where) {
        if (isTooOld()) {
            throw HoldfastException.misuse(
                    where + " is Redis " + version() + ", and Holdfast needs " + OLDEST_MAJOR + ".0 or newer",
                    "upgrade to Redis 7 or newer, or to Valkey");
        }
        if (evictsOurKeys()) {
            throw HoldfastException.misuse(
                    where + " has maxmemory-policy " + evictionPolicy() + ", which deletes data that is still held",
                    "set maxmemory-policy to noeviction or volatile-*");
        }
    }
}
