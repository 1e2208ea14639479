package io.holdfast.sweep.node;

import io.holdfast.Duty;
import java.io.IOException;
import java.time.Duration;

/** Lets a node that stays compare its clocks and write down, every few minutes, what it would lose if it were killed. */
public final class NodeDuty implements Duty {

    private static final Duration EVERY = Duration.ofMinutes(5);

    private final StorageNode node;

    public NodeDuty(StorageNode node) {
        this.node = node;
    }

    @Override
    public String name() {
        return "sweep node " + node.id();
    }

    @Override
    public Step step() throws IOException {
        node.look();
        return Step.restFor(1, EVERY);
    }
}
