package io.holdfast.redis.graph.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.RedisServer;
import io.holdfast.testkit.Seeds;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/**
 * The log of a server is cut inside a call, at every place, as a power failure does it. The server then starts without
 * that call, and brings its first writes back at the restart after that, under the log of what clients did in between.
 * A call must say TORN; after the repair nothing that anybody holds is missing, every number is right, and everything
 * can be drained.
 */
class TornCallsSimulation {

    private static RedisServer live;
    private static RedisServer restarted;
    private static RedisLink liveLink;
    private static RedisLink restartedLink;

    @BeforeAll
    static void start() {
        live = RedisServer.setup().durable().start();
        restarted = RedisServer.start();
        liveLink = link(live);
        restartedLink = link(restarted);
    }

    @AfterAll
    static void stop() {
        liveLink.close();
        restartedLink.close();
        live.close();
        restarted.close();
    }

    private static RedisLink link(RedisServer server) {
        return RedisLink.connect(
                Settings.none().set(LinkSettings.URI, server.uri().toString()));
    }

    @Test
    void nothingThatIsHeldIsMissingWhereverACallIsCut() {
        AtomicInteger cuts = new AtomicInteger();
        Seeds.of(12).run((seed, random) -> {
            try (Jedis first = live.client();
                    Jedis second = restarted.client()) {
                cuts.addAndGet(new Cut(seed, first, second).run());
            }
        });
        assertThat(cuts).hasPositiveValue();
    }

    private static final class Cut {

        private final long seed;
        private final Jedis first;
        private final Jedis second;
        private final ServerLog log = new ServerLog(live);
        private int calls;
        private final boolean byContent;
        /**
         * What the call wrote before its MULTI, between MULTI and EXEC, and what clients wrote who went on without it.
         */
        private List<byte[][]> before = List.of();

        private List<byte[][]> torn = List.of();
        private List<byte[][]> after = List.of();
        private Set<String> touched = Set.of();

        Cut(long seed, Jedis first, Jedis second) {
            this.seed = seed;
            this.first = first;
            this.second = second;
            this.calls = 10 + (int) (seed % 50);
            this.byContent = seed % 3 == 0;
        }

        private StoreModel history() {
            first.flushAll();
            StoreModel model = new StoreModel(liveLink, first, new SplittableRandom(seed), byContent);
            for (int i = 0; i < calls; i++) {
                model.anyCall();
            }
            return model;
        }

        /** Answers in how many places the call was cut. */
        int run() {
            List<byte[][]> history = List.of();
            for (int tries = 0; torn.isEmpty() && tries < 20; tries++, calls++) {
                long begin = log.size();
                StoreModel model = history();
                history = log.commands(begin, log.size());
                cutCall(model);
            }
            calls--;
            int cuts = 0;
            int raised = firstWriteOfTheCall();
            for (int kept = raised; kept < torn.size(); kept++, cuts++) {
                StoreModel same = history();
                restart(same, history, torn.subList(0, kept), List.of());
                goOn(same, kept);
            }
            for (int kept = raised; kept <= torn.size(); kept++, cuts++) {
                long from = log.size();
                StoreModel same = history();
                List<byte[][]> again = log.commands(from, log.size());
                from = log.size();
                same.draw(new SplittableRandom(seed * 100 + kept));
                for (int i = 0; i < 6; i++) {
                    same.anyCall();
                }
                same.store().open("", 1);
                after = log.commands(from, log.size());
                if (after.stream().noneMatch(command -> ServerLog.is(command, "MULTI"))) {
                    continue;
                }
                restart(same, again, torn.subList(0, kept), after);
                goOn(same, kept);
            }
            return cuts;
        }

        /** How many writes are there when the tally is raised; quiet time may be noted before. */
        private int firstWriteOfTheCall() {
            for (int i = 0; i < torn.size(); i++) {
                if (ServerLog.is(torn.get(i), "HINCRBY")) {
                    return i + 1;
                }
            }
            return torn.size() + 1;
        }

        /** One more call; it is cut if it made several writes. */
        private void cutCall(StoreModel model) {
            Map<String, Object> holders = model.holders();
            long from = log.size();
            model.anyCall();
            List<byte[][]> commands = log.commands(from, log.size());
            List<byte[][]> earlier = new ArrayList<>();
            List<byte[][]> block = new ArrayList<>();
            boolean in = false;
            for (byte[][] command : commands) {
                if (ServerLog.is(command, "EXEC")) {
                    break;
                }
                if (in) {
                    block.add(command);
                } else if (!ServerLog.is(command, "MULTI")) {
                    earlier.add(command);
                }
                in |= ServerLog.is(command, "MULTI");
            }
            touched = new HashSet<>(holders.keySet());
            touched.addAll(model.holders().keySet());
            touched.removeIf(holder ->
                    Objects.equals(holders.get(holder), model.holders().get(holder)));
            before = earlier;
            torn = block;
        }

        private void restart(StoreModel model, List<byte[][]> history, List<byte[][]> prefix, List<byte[][]> without) {
            second.flushAll();
            ServerLog.replay(second, history);
            ServerLog.replay(second, before);
            ServerLog.replay(second, prefix);
            ServerLog.replay(second, without);
            model.moveTo(restartedLink, second);
            touched.forEach(model::doubt);
        }

        private void goOn(StoreModel model, int kept) {
            String where =
                    "cut behind write " + kept + " of " + new String(torn.getFirst()[0], StandardCharsets.US_ASCII);
            assertThatThrownBy(() -> model.store().step(100, false, 16, List.of()))
                    .as(where)
                    .isInstanceOfSatisfying(
                            HoldfastException.class,
                            failure -> assertThat(RedisLink.isTorn(failure)).isTrue());
            Recount.Report report = new Recount(model.store()).run(false);
            assertThat(report.done()).isTrue();
            // A root or lease of the torn call may name what clients who did not see it have let go.
            assertThat(report.lost().stream().filter(line -> touched.stream().noneMatch(line::endsWith)))
                    .as(where)
                    .isEmpty();
            model.store().renew(List.of()); // the first call that another run of the server hears
            model.resync();
            model.check();
            model.draw(new SplittableRandom(seed + kept));
            for (int i = 0; i < 10; i++) {
                model.anyCall();
            }
            model.check();
            model.endAll();
        }
    }
}
