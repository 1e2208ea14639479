package io.holdfast.sweep.worker;

import io.holdfast.Time;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Workers with a planted mistake each. */
public final class PlantedWorkers {

    private PlantedWorkers() {}

    /** Takes frames of any attempt of the cycle for the latest. */
    public static SweepWorker ignoringAttempts(
            long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time) {
        return new SweepWorker(incarnation, 1L << 20, ring, delivery, time) {
            @Override
            @Nullable
            BuildSession find(SessionKey key) {
                BuildSession exact = super.find(key);
                boolean later = !sessions().isEmpty() && sessions().lastKey().sameCycle(key);
                return later ? sessions().get(sessions().lastKey()) : exact;
            }

            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    @Override
                    boolean belongs(SessionKey session) {
                        return session.sameCycle(start.key());
                    }
                };
            }
        };
    }

    /** Tallies in its own way. */
    public static SweepWorker tallying(
            long incarnation,
            KeyRing ring,
            SweepWorker.Delivery delivery,
            Time time,
            Function<Tally.Keys, Tally> tallies) {
        return new SweepWorker(incarnation, 1L << 20, ring, delivery, time) {
            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    @Override
                    Tally tally(Tally.Keys keys) {
                        return tallies.apply(keys);
                    }
                };
            }
        };
    }
}
