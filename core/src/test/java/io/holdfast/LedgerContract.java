package io.holdfast;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.ThingId.Kind;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What every ledger keeps to. */
public abstract class LedgerContract {

    private static final HolderId BY = new HolderId("test", 7);

    /** A new, empty ledger that keeps about so many records. */
    protected abstract Ledger ledger(int capacity);

    @Test
    void newestRecordOfAThingIsFound() {
        Ledger ledger = ledger(100);
        ledger.append(record(Kind.ROOT, ReclaimReason.RELEASED, 1, "main"));
        ledger.append(record(Kind.ROOT, ReclaimReason.DESTROYED, 2, "main"));
        ledger.append(record(Kind.ROOT, ReclaimReason.RELEASED, 3, "other"));
        assertThat(ledger.find(new ThingId(Kind.ROOT, "docs", "main")))
                .contains(record(Kind.ROOT, ReclaimReason.DESTROYED, 2, "main"));
    }

    @Test
    void everyIdOfACascadeStepIsFound() {
        Ledger ledger = ledger(100);
        Reclaimed step = record(Kind.VALUE, ReclaimReason.LAPSED, 1, "a", "b", "c");
        ledger.append(step);
        assertThat(ledger.find(new ThingId(Kind.VALUE, "docs", "b"))).contains(step);
    }

    @Test
    void unknownThingsOtherKindsAndOtherSpacesAreNotFound() {
        Ledger ledger = ledger(100);
        ledger.append(record(Kind.VALUE, ReclaimReason.LAPSED, 1, "a"));
        assertThat(ledger.find(new ThingId(Kind.VALUE, "docs", "z"))).isEmpty();
        assertThat(ledger.find(new ThingId(Kind.ROOT, "docs", "a"))).isEmpty();
        assertThat(ledger.find(new ThingId(Kind.VALUE, "other", "a"))).isEmpty();
    }

    @Test
    void recordsAreListedOldestFirstFromATime() {
        Ledger ledger = ledger(100);
        for (int second = 1; second <= 5; second++) {
            ledger.append(record(Kind.SESSION, ReclaimReason.CLOSED, second, "room-" + second));
        }
        assertThat(ledger.since(at(3), 2))
                .extracting(record -> record.ids().getFirst())
                .containsExactly("room-3", "room-4");
    }

    @Test
    void oldestRecordsMakeWay() {
        Ledger ledger = ledger(100);
        for (int i = 0; i < 1_000; i++) {
            ledger.append(record(Kind.PIECE, ReclaimReason.SWEPT, i, "piece-" + i));
        }
        assertThat(ledger.find(new ThingId(Kind.PIECE, "docs", "piece-999"))).isPresent();
        assertThat(ledger.find(new ThingId(Kind.PIECE, "docs", "piece-0"))).isEmpty();
        assertThat(ledger.since(Instant.EPOCH, 10_000)).hasSizeBetween(100, 300);
    }

    @Test
    void evidenceSurvivesAnyText() {
        Ledger ledger = ledger(10);
        String text = "root 'é\n\0\"main\"' dropped";
        Reclaimed odd = new Reclaimed(Kind.ROOT, "docs", List.of("a b\nc/ü"), ReclaimReason.RELEASED, text, at(1), BY);
        ledger.append(odd);
        assertThat(ledger.find(new ThingId(Kind.ROOT, "docs", "a b\nc/ü"))).contains(odd);
    }

    private static Reclaimed record(Kind kind, ReclaimReason reason, int second, String... ids) {
        return new Reclaimed(kind, "docs", List.of(ids), reason, "evidence " + second, at(second), BY);
    }

    private static Instant at(int second) {
        return Instant.parse("2026-05-01T00:00:00Z").plusSeconds(second);
    }
}
