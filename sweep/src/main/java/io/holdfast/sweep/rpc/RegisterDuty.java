package io.holdfast.sweep.rpc;

import io.holdfast.Duty;
import io.holdfast.HoldfastException;
import java.time.Duration;
import java.util.function.Consumer;

/** Keeps a worker registered with a manager, which may come and go. */
public final class RegisterDuty implements Duty {

    private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

    private final Peers peers;
    private final String manager;
    private final String worker;
    private final Consumer<String> changes;
    private String state = "";

    /** @param changes told in a line whenever the worker becomes registered or cannot be */
    public RegisterDuty(Peers peers, String manager, String worker, Consumer<String> changes) {
        this.peers = peers;
        this.manager = manager;
        this.worker = worker;
        this.changes = changes;
    }

    @Override
    public String name() {
        return "sweep registration";
    }

    @Override
    public Step step() {
        try {
            Duration lease = peers.register(manager, worker);
            say("registered", "registered with the manager at " + manager);
            return Step.restFor(1, lease.dividedBy(3));
        } catch (HoldfastException e) {
            say(e.category().name(), "" + e.getMessage());
            return Step.restFor(0, RETRY_AFTER);
        }
    }

    /** The words of a failure differ from one attempt to the next; what it is does not. */
    private void say(String now, String line) {
        if (!now.equals(state)) {
            state = now;
            changes.accept(line);
        }
    }
}
