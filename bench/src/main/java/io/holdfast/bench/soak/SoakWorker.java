package io.holdfast.bench.soak;

import io.holdfast.HoldfastException;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.app.wiring.SlabValueCache;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.Snapshot;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.session.SessionHold;
import io.holdfast.redis.session.Sessions;
import io.holdfast.redis.session.SessionsBuilder;
import io.holdfast.slab.SlabCache;
import io.holdfast.testkit.ChildJvm;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** One of the processes under load: writes, reads, serves and leaves at random until it is killed or its input ends. */
final class SoakWorker {

    /** Small, so that the ledgers are full soon: what grows after that grows for ever. */
    static final int LEDGER_CAPACITY = 200;

    private static final int DOCUMENTS = 200;
    private static final int SESSIONS = 300;

    private final ValueGraph docs;
    private final Sessions readers;
    private final SessionSnapshots snapshots;
    private final Aggregates<Long> visits;
    private final SplittableRandom random;
    private final List<SessionHold> serving = new ArrayList<>();
    private long operations;

    private SoakWorker(Holdfast holdfast, long seed) {
        this.docs = holdfast.graph("docs");
        this.snapshots = new SessionSnapshots(holdfast, "readers", "docs");
        this.readers = sessions(holdfast)
                .onClose(snapshots::release)
                .onRegained(snapshots::moveOn)
                .start();
        this.visits = visits(holdfast).start();
        this.random = new SplittableRandom(seed);
    }

    static SessionsBuilder sessions(Holdfast holdfast) {
        return holdfast.sessions("readers").lease(Duration.ofSeconds(3)).grace(Duration.ofSeconds(1));
    }

    static AggregatesBuilder<Long> visits(Holdfast holdfast) {
        return holdfast.aggregates("visits", Long.class, Long::sum)
                .set(AggregateSettings.LEASE, Duration.ofSeconds(3))
                .publishInterval(Duration.ofMillis(200))
                .softWindow(Duration.ofSeconds(2));
    }

    /** @param arguments address of Redis, file of the cache, seed */
    public static void main(String[] arguments) throws Exception {
        try (SlabCache slab = SlabCache.attach(Path.of(arguments[1]));
                Holdfast holdfast = Holdfast.builder()
                        .uri(arguments[0])
                        .set(RedisLedger.CAPACITY, LEDGER_CAPACITY)
                        .valueCache(new SlabValueCache(slab.namespace("values")))
                        .open()) {
            SoakWorker worker = new SoakWorker(holdfast, Long.parseLong(arguments[2]));
            ChildJvm.sayReady();
            while (System.in.available() == 0) {
                try {
                    worker.step();
                } catch (HoldfastException e) {
                    if (!e.isRetryable()
                            && e.category() != HoldfastException.Category.GONE
                            && e.category() != HoldfastException.Category.LAPSED) {
                        throw e;
                    }
                }
            }
            worker.serving.forEach(SessionHold::close);
            worker.readers.close();
            worker.visits.close();
            ChildJvm.say("done " + worker.operations);
        }
    }

    private void step() {
        operations++;
        switch (random.nextInt(9)) {
            case 0, 1 -> write();
            case 2, 3, 4, 5 -> read();
            case 6 -> serve();
            case 7 -> visits.add("page" + random.nextInt(50), 1L);
            default -> leave();
        }
    }

    private void write() {
        try (GraphWriter writer = docs.writer()) {
            List<ValueId> pages = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                pages.add(writer.put(new byte[200 + random.nextInt(800)]));
            }
            docs.root(document()).set(writer.put(new byte[100], pages));
        }
    }

    private String document() {
        return "doc" + random.nextInt(DOCUMENTS);
    }

    private void read() {
        try (Snapshot snapshot = docs.snapshot(document())) {
            snapshot.children(snapshot.target()).forEach(snapshot::get);
        }
    }

    private void serve() {
        if (serving.size() < 50) {
            SessionHold hold = readers.acquire("s" + random.nextInt(SESSIONS));
            serving.add(hold);
            if (random.nextBoolean()) {
                snapshots.take(hold, document()).close();
            }
        }
    }

    private void leave() {
        if (!serving.isEmpty()) {
            serving.remove(random.nextInt(serving.size())).close();
        }
    }
}
