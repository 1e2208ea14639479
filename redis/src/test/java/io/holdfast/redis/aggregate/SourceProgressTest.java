package io.holdfast.redis.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SourceProgressTest {

    private final SourceProgress progress = new SourceProgress("p");

    private Update<String> added(long position) {
        SourceProgress.Place place = progress.begin(position);
        Update<String> update = new Update<>("x", place, null, Update.NO_EVENT_TIME);
        update.added("key");
        progress.complete(place);
        return update;
    }

    @Test
    void durableIsTheLastPositionBeforeTheFirstThatWaits() {
        List<Update<String>> updates = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            updates.add(added(i / 2));
        }
        List<Update<String>> order = new ArrayList<>(updates);
        Collections.shuffle(order, new Random(1));
        boolean[] done = new boolean[1_000];
        for (Update<String> update : order) {
            progress.done(update);
            done[updates.indexOf(update)] = true;
            int first = 0;
            while (first < 1_000 && done[first]) {
                first++;
            }
            assertThat(progress.durable().orElse(-1)).isEqualTo(first / 2 - 1);
        }
        assertThat(progress.places()).isZero();
    }

    @Test
    void refusedUpdateCostsNoMemoryForWhatComesAfterIt() {
        progress.refuse(added(0), "key");
        for (int i = 1; i < 100_000; i++) {
            progress.done(added(i));
        }
        assertThat(progress.places()).isLessThan(4);
        assertThat(progress.durable()).isEmpty();
        progress.skip(0);
        assertThat(progress.durable()).hasValue(99_999);
        assertThat(progress.places()).isZero();
    }

    @Test
    void refusedUpdateThatIsAddedAgainAndCountsIsDurable() {
        progress.refuse(added(7), "key");
        assertThat(progress.durable()).isEmpty();
        progress.done(added(7));
        assertThat(progress.durable()).hasValue(7);
    }

    @Test
    void tooManyRefusedUpdatesStopTheSource() {
        for (int i = 0; i < SourceProgress.REFUSED_MAX; i++) {
            progress.refuse(added(i), "key");
        }
        assertThatThrownBy(() -> added(SourceProgress.REFUSED_MAX))
                .hasMessageContaining("1000 updates of source 'p' were refused and not skipped");
        progress.skip(0);
        added(SourceProgress.REFUSED_MAX);
    }
}
