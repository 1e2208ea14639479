package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ManualTime;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.piece.OwnerId;
import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CycleLogTest {

    private static final OwnerId PHOTOS = Fleet.PHOTOS;

    private String stored = "";

    private final CycleLog log = new CycleLog(
            new CycleStore() {
                @Override
                public Optional<String> read(OwnerId owner) {
                    return stored.isEmpty() ? Optional.empty() : Optional.of(stored);
                }

                @Override
                public boolean compareAndSet(OwnerId owner, Optional<String> expected, String next) {
                    stored = next;
                    return true;
                }
            },
            new ManualTime());

    /** The layout before it was said which peer an alarm is about. */
    @Test
    void logOfTheFirstVersionIsReadAndGoesOn() throws IOException {
        stored = """
            holdfast-cycles 1
            cycle 7
            token 3
            holder\s
            until 1970-01-01T00:00:00Z
            began 2026-01-01T00:00:00Z
            outcome 5 trashed of 10
            alarm 2026-01-01T00:00:00Z note node n1 lost a piece
            """;
        log.raise(PHOTOS, true, "worker 10.0.0.9:7001", "it lies");
        CycleLog.State state = log.state(PHOTOS);
        assertThat(state.cycle()).isEqualTo(7);
        assertThat(state.isStopped()).isTrue();
        assertThat(state.alarms()).extracting(CycleLog.Alarm::text).containsExactly("it lies", "node n1 lost a piece");
        assertThat(state.alarms().getFirst().about()).isEqualTo("worker_10.0.0.9:7001");
    }

    @Test
    void onePeerHasFiveAlarmsAtMost() throws IOException {
        for (int i = 0; i < 20; i++) {
            log.raise(PHOTOS, false, "node:n1", "piece " + i);
        }
        log.raise(PHOTOS, false, "node:n2", "another");
        assertThat(log.state(PHOTOS).alarms())
                .extracting(CycleLog.Alarm::text)
                .containsExactly("piece 0", "piece 1", "piece 2", "piece 3", "piece 4", "another");
    }
}
