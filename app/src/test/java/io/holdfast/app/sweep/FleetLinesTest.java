package io.holdfast.app.sweep;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sweep.manager.FleetStatus;
import io.holdfast.sweep.piece.OwnerId;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FleetLinesTest {

    private static FleetStatus of(int lines, int nodesInAll) {
        return new FleetStatus(
                new OwnerId("photos"),
                7,
                "scan",
                500,
                1000,
                List.of(new FleetStatus.OfWorker("10.0.0.1:7001", "at work", "n000", "n499", 500, 900, 450, 440)),
                IntStream.range(0, lines)
                        .mapToObj(i -> new FleetStatus.OfNode("n" + i, "pending", 1, 2, 0, 0, ""))
                        .toList(),
                nodesInAll,
                List.of("somebody must look"));
    }

    @Test
    void aScreenShowsHowFarTheCycleIsTheRangeOfEachWorkerAndTheFirstNodes() {
        String screen = FleetLines.screen(of(100, 20_000));
        assertThat(screen)
                .contains("cycle 7 of photos: scan, 500 of 1000 rows")
                .containsPattern("10.0.0.1:7001 +at work +n000 +n499 +500 +900 +450 +440")
                .contains("n29 ", "… and 19970 more nodes", "alarm: somebody must look")
                .doesNotContain("n30 ");
    }

    @Test
    void anAnswerShowsEveryNodeThereIsALineForAndCountsTheOthers() {
        assertThat(String.join("\n", FleetLines.answer(of(100, 100)).text()))
                .contains("n99 ")
                .doesNotContain("more nodes");
        assertThat(String.join("\n", FleetLines.answer(of(100, 20_000)).text())).contains("… and 19900 more nodes");
    }
}
