package io.holdfast.bench.aggregates;

import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.aggregates.AggregatesSuite.Visit;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.Position;
import io.holdfast.testkit.RedisServer;
import java.util.List;

/** What an update of one key costs the server while few or many keys are open, all of them held by this instance. */
final class OpenKeys {

    private static final int FEW = 10_000;
    private static final int UPDATED = 5_000;
    private static final int STRIDE = 7_919; // a prime: no key comes twice in a round

    private OpenKeys() {}

    static void measure(Run run) throws Exception {
        int many = run.size(500_000, 100_000);
        run.note("an update with " + FEW + " and with " + many + " open keys");
        try (RedisServer small = RedisServer.start();
                RedisServer large = RedisServer.start();
                Holder few = new Holder(small, FEW);
                Holder lots = new Holder(large, many)) {
            Contest.Results results = new Contest()
                    .add("few", few::update)
                    .add("many", lots::update)
                    .run(run.size(9, 5));
            run.row(Row.compared(
                            "an update of a key with " + many + " keys open, server CPU",
                            "us",
                            Direction.LOWER,
                            results.median("many", Measurement::serverMicros),
                            results.median("few", Measurement::serverMicros),
                            "with " + FEW + " open")
                    .goal(1.5));
        }
    }

    /** An instance that has a part in each of so many open keys. */
    private static final class Holder implements AutoCloseable {
        private final Holdfast holdfast;
        private final ServerCpu cpu;
        private final Meter meter;
        private final Aggregates<Visit> visits;
        private final List<String> keys;
        private int at;
        private long next;

        Holder(RedisServer server, int count) {
            holdfast = Holdfast.connect(server.uri().toString());
            cpu = new ServerCpu(server.uri());
            meter = Meter.with(cpu);
            visits = AggregatesSuite.aggregates(holdfast, "open")
                    .set(AggregateSettings.TABLE, 2 * count)
                    .start();
            keys = AggregatesSuite.keys("page-", count);
            for (String key : keys) {
                add(key);
                if (next % FEW == 0) {
                    visits.publish(); // no publish waits longer than its limit of ten seconds
                }
            }
            visits.publish();
        }

        private void add(String key) {
            visits.add(key, AggregatesSuite.ONE, Position.at("bench", 0, next++));
        }

        /** Updates keys here and there, each once. */
        Measurement update() throws Exception {
            return meter.measure(UPDATED, () -> {
                for (int i = 0; i < UPDATED; i++) {
                    at = (at + STRIDE) % keys.size();
                    add(keys.get(at));
                }
                visits.publish();
            });
        }

        @Override
        public void close() {
            cpu.close();
            holdfast.close();
        }
    }
}
