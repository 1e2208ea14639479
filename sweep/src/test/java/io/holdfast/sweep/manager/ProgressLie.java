package io.holdfast.sweep.manager;

import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.node.NodeStatus;
import io.holdfast.sweep.node.Suspect;
import io.holdfast.sweep.piece.PieceId;
import java.time.Instant;
import java.util.List;
import java.util.random.RandomGenerator;

/** What a node says, with some of it changed. */
final class ProgressLie {

    private final NodeProgress truth;
    private int idBytes;
    private long lastCycle;
    private NodeProgress.State state;
    private long examined;
    private String verdict;
    private long wouldTrash;
    private String detail;
    private List<NodeStatus.Alarm> alarms;
    private List<Suspect> suspects;

    ProgressLie(NodeProgress truth) {
        this.truth = truth;
        idBytes = truth.idBytes();
        lastCycle = truth.lastCycle();
        state = truth.state();
        examined = truth.examined();
        verdict = truth.verdict();
        wouldTrash = truth.wouldTrash();
        detail = truth.detail();
        alarms = truth.alarms();
        suspects = truth.suspects();
    }

    /** Something that is not so, often at the edge of what a number can be. */
    static NodeProgress random(NodeProgress truth, RandomGenerator random) {
        long odd = switch (random.nextInt(4)) {
            case 0 -> Long.MAX_VALUE;
            case 1 -> 1L << 49;
            case 2 -> truth.examined() + 1;
            default -> 0;
        };
        ProgressLie lie = new ProgressLie(truth);
        return switch (random.nextInt(6)) {
            case 0 -> lie.examined(odd).build();
            case 1 -> lie.examined(odd).wouldTrash(odd).build();
            case 2 -> lie.lastCycle(odd).build();
            case 3 -> lie.state(NodeProgress.State.EXAMINING).build();
            case 4 -> lie.detail("\rcycle 9\u2028alarm").verdict("TOO_FEW_HITS").build();
            default -> truth;
        };
    }

    ProgressLie idBytes(int value) {
        idBytes = value;
        return this;
    }

    ProgressLie lastCycle(long value) {
        lastCycle = value;
        return this;
    }

    ProgressLie state(NodeProgress.State value) {
        state = value;
        return this;
    }

    ProgressLie examined(long value) {
        examined = value;
        return this;
    }

    ProgressLie verdict(String value) {
        verdict = value;
        return this;
    }

    ProgressLie wouldTrash(long value) {
        wouldTrash = value;
        return this;
    }

    ProgressLie detail(String value) {
        detail = value;
        return this;
    }

    ProgressLie alarm(long cycle, PieceId id) {
        alarms = List.of(new NodeStatus.Alarm(PlainFleet.OWNER, cycle, id, Instant.EPOCH));
        return this;
    }

    ProgressLie alarms(List<NodeStatus.Alarm> value) {
        alarms = value;
        return this;
    }

    ProgressLie suspects(List<Suspect> value) {
        suspects = value;
        return this;
    }

    NodeProgress build() {
        return new NodeProgress(
                truth.node(),
                idBytes,
                lastCycle,
                state,
                examined,
                truth.digest(),
                verdict,
                wouldTrash,
                truth.wouldTrashBytes(),
                truth.trashed(),
                truth.trashedBytes(),
                truth.live(),
                truth.young(),
                truth.failed(),
                detail,
                alarms,
                truth.trashBuilder(),
                suspects);
    }
}
