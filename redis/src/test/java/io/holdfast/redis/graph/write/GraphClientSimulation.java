package io.holdfast.redis.graph.write;

import static io.holdfast.redis.graph.write.GraphClient.PREFIX;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.redis.graph.model.FaultyWire;
import io.holdfast.redis.graph.read.Holds.Held;
import io.holdfast.redis.graph.read.Reader.Value;
import io.holdfast.redis.graph.store.Place;
import io.holdfast.redis.graph.write.Roots.State;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.testkit.Seeds;
import io.holdfast.testkit.SharedRedis;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.Jedis;

/**
 * Clients over a wire that loses requests and replies, delivers twice and much later, against a model of what they
 * hold: nothing of that is ever missing or refused, and nothing is left at the end.
 */
class GraphClientSimulation {

    private static final int CALLS = 150;

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    @Test
    void whatAClientHoldsIsThereAndNothingIsLeftAtTheEnd() {
        Seeds.of(8).run((seed, random) -> {
            try (Jedis redis = server.client();
                    FaultyWire wire = new FaultyWire(server.server().address(), random)) {
                redis.flushAll();
                new Run(redis, wire, random).run();
            }
        });
    }

    private record Known(String text, List<Place> children) {}

    /** A client and what it holds for sure. */
    private static final class Mine {
        final GraphClient client;
        final Writer writer;
        final Set<Place> tops = new TreeSet<>();
        /** Put since the last flush that was answered. */
        final List<Place> unsent = new ArrayList<>();

        final Map<Held, Place> holds = new HashMap<>();

        Mine(GraphClient client) {
            this.client = client;
            this.writer = client.writer();
        }
    }

    private static final class Run {

        private final Jedis redis;
        private final FaultyWire wire;
        private final RandomGenerator random;
        private final List<Mine> clients = new ArrayList<>();
        private final Map<Place, Known> known = new HashMap<>();
        /** What roots name; empty: it is not known, as a call was not answered. */
        private final Map<String, Optional<Place>> roots = new TreeMap<>();

        /** Kept, so that what they held is not released when they are collected. */
        private final List<Mine> dead = new ArrayList<>();

        private int numbered;

        Run(Jedis redis, FaultyWire wire, RandomGenerator random) {
            this.redis = redis;
            this.wire = wire;
            this.random = random;
        }

        void run() {
            for (int call = 0; call < CALLS; call++) {
                redis.hset(PREFIX + "meta", "quiet", "0");
                redis.hdel(PREFIX + "meta", "drainer");
                if (clients.size() < 2) {
                    unsure(this::come);
                } else {
                    oneCall(clients.get(random.nextInt(clients.size())));
                }
            }
            wire.faults(false);
            clients.forEach(this::flush);
            check();
            endAll();
        }

        private void come() {
            RedisLink link = RedisLink.using(wire.client());
            clients.add(new Mine(new GraphClient(link, "client" + ++numbered, random)));
        }

        private void oneCall(Mine mine) {
            switch (random.nextInt(16)) {
                case 0, 1, 2, 3, 4 -> put(mine);
                case 5, 6, 7 -> setRoot(mine);
                case 8 -> dropRoot(mine);
                case 9 -> hold(mine);
                case 10 -> closeHold(mine);
                case 11 -> release(mine);
                case 12 -> wire.repeatOneLate();
                case 13 -> {
                    if (random.nextInt(4) == 0) {
                        kill(mine);
                    }
                }
                default -> unsure(mine.client.drainer::stepOnce);
            }
            if (random.nextInt(12) == 0) {
                check();
            }
        }

        /** Whether the call was answered. */
        private boolean unsure(Runnable call) {
            try {
                call.run();
                return true;
            } catch (HoldfastException e) {
                assertThat(e.category()).as(e.toString()).isEqualTo(Category.RETRY);
                return false;
            }
        }

        private void put(Mine mine) {
            for (int n = 1 + random.nextInt(40); n > 0; n--) {
                List<Place> children = new ArrayList<>();
                for (int c = random.nextInt(4); c > 0; c--) {
                    Place child = heldBy(mine);
                    if (child != null) {
                        children.add(child);
                    }
                }
                String text = "value " + ++numbered + "x".repeat(random.nextInt(60));
                boolean answered = unsure(() -> {
                    Place place = Splitter.put(mine.writer, text.getBytes(StandardCharsets.UTF_8), children);
                    known.put(place, new Known(text, List.copyOf(children)));
                    mine.unsent.add(place);
                });
                if (!answered) {
                    break;
                }
            }
            while (!flush(mine)) {
                // Only what is held until the flush may be a child, so nothing else happens before it is answered.
            }
        }

        /**
         * Sends what is left; what was put is held from now on. A refusal would be a false one: all children are held.
         */
        private boolean flush(Mine mine) {
            boolean answered = unsure(mine.writer::flush);
            if (answered) {
                mine.tops.addAll(mine.unsent);
                mine.unsent.forEach(place -> mine.tops.removeAll(known(place).children()));
                mine.unsent.clear();
            }
            return answered;
        }

        private void setRoot(Mine mine) {
            Place target = random.nextInt(4) == 0 ? heldBy(mine) : any(mine.tops);
            if (target == null || !mine.unsent.isEmpty()) {
                return;
            }
            String root = "root" + random.nextInt(3);
            boolean answered = unsure(() -> mine.client.roots.set(root, null, target));
            roots.put(root, answered ? Optional.of(target) : Optional.empty());
            mine.tops.remove(target); // the root has it, or may have it
        }

        private void dropRoot(Mine mine) {
            String root = "root" + random.nextInt(3);
            if (unsure(() -> mine.client.roots.drop(root))) {
                roots.remove(root);
            } else {
                roots.put(root, Optional.empty());
            }
        }

        private void hold(Mine mine) {
            Place target = heldBy(mine);
            if (target != null) {
                unsure(() -> mine.holds.put(mine.client.holds.hold(target, GraphClient.LEASE), target));
            }
        }

        private void closeHold(Mine mine) {
            if (!mine.holds.isEmpty()) {
                Held held = mine.holds.keySet().iterator().next();
                mine.holds.remove(held);
                held.close();
            }
        }

        private void release(Mine mine) {
            Place place = any(mine.tops);
            if (place != null && mine.unsent.isEmpty()) {
                mine.tops.remove(place);
                unsure(() -> mine.writer.release(List.of(place)));
            }
        }

        /** It makes no more calls; what it sent may still arrive. */
        private void kill(Mine mine) {
            clients.remove(mine);
            dead.add(mine);
            redis.zrange(PREFIX + "leases", 0, -1).forEach(lease -> {
                String holder = redis.hget(PREFIX + "lease:" + lease, "holder");
                boolean its = clients.stream().noneMatch(it -> it.client.isHolder(holder));
                if (its) {
                    redis.zadd(PREFIX + "leases", 1, lease);
                }
            });
            clients.stream().findFirst().ifPresent(other -> unsure(other.client.drainer::step));
        }

        /** Some value that this client or a root holds for sure. */
        private @Nullable Place heldBy(Mine mine) {
            List<Place> all = new ArrayList<>(mine.tops);
            all.addAll(mine.holds.values());
            all.addAll(mine.unsent);
            roots.values().forEach(target -> target.ifPresent(all::add));
            for (Place place : List.copyOf(all)) {
                if (random.nextInt(3) == 0) {
                    all.addAll(known(place).children());
                }
            }
            return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
        }

        private @Nullable Place any(Set<Place> places) {
            return places.isEmpty() ? null : List.copyOf(places).get(random.nextInt(places.size()));
        }

        private Known known(Place place) {
            return Objects.requireNonNull(known.get(place), place::toString);
        }

        private void check() {
            Set<Place> seen = new HashSet<>();
            List<Place> open = new ArrayList<>();
            roots.values().forEach(target -> target.ifPresent(open::add));
            clients.forEach(mine -> {
                open.addAll(mine.tops);
                open.addAll(mine.holds.values());
            });
            wire.faults(false);
            GraphClient reader = new GraphClient(RedisLink.using(wire.client()), "reader", random);
            while (!open.isEmpty()) {
                Place place = open.removeLast();
                if (seen.add(place)) {
                    Optional<Value> value = reader.reader.find(place);
                    assertThat(value).as("value %s that is held", place).isPresent();
                    assertThat(new String(value.get().bytes(), StandardCharsets.UTF_8))
                            .isEqualTo(known(place).text());
                    assertThat(value.get().children()).isEqualTo(known(place).children());
                    open.addAll(value.get().children());
                }
            }
            roots.forEach((root, target) -> target.ifPresent(place ->
                    assertThat(reader.roots.read(root).target()).as(root).contains(place)));
            wire.faults(true);
        }

        private void endAll() {
            wire.faults(false);
            wire.repeatAllLate();
            check();
            wire.faults(false);
            clients.forEach(mine -> {
                mine.writer.close();
                mine.holds.keySet().forEach(Held::close);
            });
            GraphClient last = new GraphClient(RedisLink.using(wire.client()), "last", random);
            for (Map.Entry<String, State> root : last.roots.readAll("").entrySet()) {
                assertThat(last.roots.drop(root.getKey())).isTrue();
            }
            for (int steps = 0; steps < 600; steps++) {
                redis.hset(PREFIX + "meta", "quiet", "0");
                redis.hdel(PREFIX + "meta", "drainer");
                redis.zrange(PREFIX + "leases", 0, -1).stream()
                        .filter(lease -> redis.hlen(PREFIX + "lease:" + lease) > 3) // it has not ended, or holds values
                        .forEach(lease -> redis.zadd(PREFIX + "leases", 1, lease));
                last.drainer.step();
                boolean empty = "0".equals(redis.hget(PREFIX + "meta", "values"));
                if (empty && redis.zcard(PREFIX + "doomed") == 0 && redis.zcard(PREFIX + "lengths") == 0) {
                    break;
                }
            }
            assertThat(redis.hget(PREFIX + "meta", "values")).isIn("0", null);
            assertThat(redis.hget(PREFIX + "meta", "miscounts")).isNull();
            Set<String> parts = new TreeSet<>();
            redis.keys("*").forEach(key -> parts.add(key.substring(PREFIX.length())));
            parts.removeIf(part -> part.startsWith("lease"));
            assertThat(parts).isSubsetOf("meta", "ledger");
            dead.forEach(mine -> mine.holds.keySet().forEach(Held::close));
        }
    }
}
