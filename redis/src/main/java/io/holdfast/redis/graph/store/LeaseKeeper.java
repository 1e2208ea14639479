package io.holdfast.redis.graph.store;

import io.holdfast.Duty;
import io.holdfast.DutyRunner;
import io.holdfast.HolderId;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.redis.graph.store.Store.Leased;
import io.holdfast.redis.graph.store.Store.Renewed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Takes, renews and ends the leases of this process on one graph. When one is due, all are renewed, so that an idle
 * process makes few calls. A renewal that fails ends nothing: it is tried again soon, and until the deadline the lease
 * is good.
 *
 * <p>A lease that the server does not know any more is lost. Whoever keeps it says what takes its place: a hold takes a
 * new lease on the same value, which is as good if the value is still there; a writer ends.
 */
public final class LeaseKeeper implements Duty {

    private static final System.Logger LOG = System.getLogger(LeaseKeeper.class.getName());

    private static final int LEASES_A_CALL = 1_000;
    private static final Duration IDLE = Duration.ofMinutes(1);
    private static final Duration SOONEST = Duration.ofMillis(20);
    /** After a renewal that got no answer. A back-off that grows, as duties have it, could outgrow the lease. */
    private static final Duration AGAIN = Duration.ofMillis(250);

    private static final int TRIES = 3;

    /** What a lease is kept for. */
    public interface Kept {
        /**
         * The server does not know the lease; answers the one that takes its place, if any. Called again if it fails.
         */
        Optional<Lease> onLost();
    }

    private final String name;
    private final Store store;
    private final HolderId self;
    private final Time time;
    private final RandomGenerator random;
    private final Duration patience;
    private final Map<Lease, Kept> leases = new ConcurrentHashMap<>();
    private volatile long serverMillis;
    private volatile long heardNanos;
    private DutyRunner.@Nullable Assignment assignment;

    /** @param patience how long one call may take to be answered */
    public LeaseKeeper(String graph, Store store, HolderId self, Time time, RandomGenerator random, Duration patience) {
        this.name = "graph " + graph + " renew";
        this.store = store;
        this.self = self;
        this.time = time;
        this.random = random;
        this.patience = patience;
    }

    public void startOn(DutyRunner runner) {
        assignment = runner.add(this);
    }

    public void stop() {
        if (assignment != null) {
            assignment.close();
        }
    }

    /** Notes what the server's clock shows. */
    public void heard(long millis) {
        serverMillis = millis;
        heardNanos = time.nanoTime();
    }

    /** Until when a call that is made now may arrive, by the server's clock; later it must do nothing. */
    public long validUntil() {
        return serverMillis + (time.nanoTime() - heardNanos) / 1_000_000 + TRIES * patience.toMillis() + 1_000;
    }

    /**
     * Takes a lease.
     *
     * @param target what it holds from the start; null: nothing
     * @throws HoldfastException GONE if the target has ended; RETRY if the server does not answer
     */
    public Lease take(Duration length, @Nullable Place target) {
        Lease lease = new Lease(HexFormat.of().toHexDigits(random.nextLong()), length, time);
        long until = validUntil();
        long[] sent = new long[1];
        Leased answer = repeated(() -> {
            sent[0] = time.nanoTime();
            return store.hold(lease.name(), until, length.toMillis(), self.toString(), target);
        });
        heard(answer.serverMillis());
        switch (answer.status()) {
            case "OK" -> lease.taken(sent[0], answer.run());
            case "GONE" ->
                throw new HoldfastException(Category.GONE, "value " + target + " is unknown or already reclaimed");
            default ->
                throw new HoldfastException(Category.RETRY, "the server took too long to answer: " + answer.status());
        }
        return lease;
    }

    /** Repeats a call that got no answer: a repeat of every script is harmless. */
    public static <T> T repeated(Supplier<T> call) {
        for (int tries = 1; ; tries++) {
            try {
                return call.get();
            } catch (HoldfastException e) {
                if (e.category() != Category.RETRY || tries == TRIES) {
                    throw e;
                }
            }
        }
    }

    public void keep(Lease lease, Kept kept) {
        leases.put(lease, kept);
        if (assignment != null) {
            assignment.wakeIn(lease.untilRenewal());
        }
    }

    /** Ends a lease. If the server does not answer, it lapses instead. */
    public void end(Lease lease) {
        leases.remove(lease);
        if (lease.isValid()) {
            while (store.leave(lease.name(), false).equals("MORE")) {
                // the next page
            }
        }
    }

    /** Renews a lease no more. */
    public void forget(Lease lease) {
        leases.remove(lease);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Step step() {
        List<Lease> all = new ArrayList<>(leases.keySet());
        boolean due = all.stream().anyMatch(lease -> lease.untilRenewal().compareTo(SOONEST) <= 0);
        boolean answered = true;
        for (int from = 0; due && answered && from < all.size(); from += LEASES_A_CALL) {
            answered = renew(all.subList(from, Math.min(all.size(), from + LEASES_A_CALL)));
        }
        if (!answered) {
            return Step.restFor(0, AGAIN);
        }
        Duration next = IDLE;
        for (Lease lease : leases.keySet()) {
            Duration wish = lease.untilRenewal();
            next = wish.compareTo(next) < 0 ? wish : next;
        }
        return Step.restFor(due ? all.size() : 0, next.compareTo(SOONEST) < 0 ? SOONEST : next);
    }

    /** Whether the server answered, and what takes the place of lost leases is known. */
    private boolean renew(List<Lease> page) {
        long sent = time.nanoTime();
        Renewed answer;
        try {
            answer = store.renew(page.stream().map(Lease::name).toList());
        } catch (HoldfastException e) {
            if (e.category() == Category.RETRY || e.category() == Category.FULL) {
                LOG.log(System.Logger.Level.WARNING, "{0}: {1}; tried again soon", name, e.getMessage());
                return false;
            }
            throw e;
        }
        heard(answer.serverMillis());
        boolean known = true;
        for (int i = 0; i < page.size(); i++) {
            if (answer.alive().charAt(i) == '1') {
                page.get(i).renewed(sent, answer.run());
            } else {
                known &= replace(page.get(i));
            }
        }
        return known;
    }

    private boolean replace(Lease lost) {
        lost.lose();
        Kept kept = leases.get(lost);
        if (kept == null) {
            return true;
        }
        try {
            kept.onLost().ifPresent(next -> leases.put(next, kept));
            leases.remove(lost);
            return true;
        } catch (HoldfastException e) {
            LOG.log(System.Logger.Level.WARNING, "{0}: {1}; tried again soon", name, e.getMessage());
            return false;
        }
    }
}
