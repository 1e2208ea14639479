package io.holdfast.sweep.node;

import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** What a node would tell a person who asks how it stands. */
public record NodeStatus(NodeId node, List<OfOwner> owners) {

    /**
     * @param lastCycle the highest cycle it took; 0 if none
     * @param underWay the cycle that was examined and is not finished
     * @param trash what lies in the trash
     * @param alarms pieces that were read though they were in the trash
     */
    public record OfOwner(
            OwnerId owner, long lastCycle, Optional<UnderWay> underWay, List<TrashOfCycle> trash, List<Alarm> alarms) {}

    public record UnderWay(
            long cycle,
            String digest,
            Verdict verdict,
            long examined,
            long wouldTrash,
            long wouldTrashBytes,
            boolean released) {}

    /** @param emptiesAt the earliest time at which it may be emptied */
    public record TrashOfCycle(long cycle, Instant since, Instant emptiesAt, boolean restored) {}

    public record Alarm(OwnerId owner, long cycle, PieceId id, Instant at) {

        public Suspect piece() {
            return new Suspect(cycle, id);
        }
    }
}
