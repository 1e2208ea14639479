package io.holdfast.redis.session;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What is true, as simply as it can be said: who serves what, on one clock that all see. It knows nothing of leases in
 * Redis; it is told what an instance was told.
 */
final class ServedModel {

    /** A hold that an instance was granted; epoch 0 in a protocol that has none. */
    record Service(int instance, String id) {}

    private final Map<Service, Long> served = new HashMap<>();
    private final Set<String> committed = new HashSet<>();
    private final Map<String, ClaimSeen> claims = new HashMap<>();
    private final Set<String> opened = new HashSet<>();
    private final Set<String> effects = new HashSet<>();
    final List<String> violations = new ArrayList<>();
    private final long begunNanos = System.nanoTime();
    private long passedMillis;
    private long quietUntilMillis;

    private record ClaimSeen(long token, long validUntilMillis) {}

    /** The time that the test has let pass. */
    long passed() {
        return passedMillis;
    }

    /** That, and the time that really passed meanwhile: the server's clock cannot be stopped. */
    long now() {
        return passedMillis + (System.nanoTime() - begunNanos) / 1_000_000;
    }

    void advance(Duration by) {
        passedMillis += by.toMillis();
    }

    void serves(int instance, String id, long epoch) {
        served.put(new Service(instance, id), epoch);
        opened.add(id + "/" + epoch);
    }

    boolean isServed(int instance, String id) {
        return served.containsKey(new Service(instance, id));
    }

    Set<String> servedBy(int instance) {
        Set<String> ids = new HashSet<>();
        served.keySet().stream().filter(one -> one.instance() == instance).forEach(one -> ids.add(one.id()));
        return ids;
    }

    long serving(String id) {
        return served.keySet().stream().filter(one -> one.id().equals(id)).count();
    }

    void stopped(int instance, String id) {
        served.remove(new Service(instance, id));
    }

    void died(int instance) {
        served.keySet().removeIf(one -> one.instance() == instance);
    }

    /** The effect of a close happens now. {@code excused}: instances that cannot be sure of anything at the moment. */
    void effect(String id, long epoch, Set<Integer> excused) {
        effects.add(id + "/" + epoch);
        served.forEach((service, servedEpoch) -> {
            if (service.id().equals(id) && servedEpoch == epoch && !excused.contains(service.instance())) {
                violations.add("session " + id + " epoch " + epoch + " closed at " + now() + " while instance "
                        + service.instance() + " serves it");
            }
        });
    }

    /** Another server answers from now on: nobody has had the chance to renew there. */
    void storeReplaced(Duration lease) {
        quietUntilMillis = now() + lease.toMillis();
    }

    void claimed(String key, long token, Duration length) {
        ClaimSeen before = claims.get(key);
        if (now() < quietUntilMillis) {
            violations.add(key + " claimed at " + now() + " though the store was replaced, and nothing may be"
                    + " claimed until " + quietUntilMillis);
        }
        if (committed.contains(key)) {
            violations.add(key + " claimed after it was committed");
        }
        if (before != null && now() < before.validUntilMillis()) {
            violations.add(key + " claimed with token " + token + " at " + now() + " though token " + before.token()
                    + " is valid until " + before.validUntilMillis());
        }
        if (before != null && token <= before.token()) {
            violations.add(key + " claimed with token " + token + " after " + before.token());
        }
        claims.put(key, new ClaimSeen(token, now() + length.toMillis()));
    }

    void settled(String key, long token, long nextMillis) {
        claims.put(key, new ClaimSeen(token, now() + nextMillis));
    }

    void committed(String key, long token) {
        if (!committed.add(key)) {
            violations.add(key + " committed twice");
        }
        ClaimSeen claim = claims.get(key);
        if (claim == null || claim.token() != token) {
            violations.add(key + " committed with token " + token + " though the claim is " + claim);
        }
    }

    /** Lives that were begun and never closed. */
    Set<String> neverClosed() {
        Set<String> left = new HashSet<>(opened);
        left.removeAll(effects);
        return left;
    }
}
