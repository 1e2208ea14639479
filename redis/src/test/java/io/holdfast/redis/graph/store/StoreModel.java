package io.holdfast.redis.graph.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HolderId;
import io.holdfast.ManualTime;
import io.holdfast.redis.graph.store.Store.Stepped;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/** Clients that make random calls of the scripts, and what must be there after them. */
final class StoreModel {

    /** What a client knows of a lease of its own. */
    private static final class Lease {
        final String name;
        final Set<Place> held = new HashSet<>();
        long sequence;

        Lease(String name) {
            this.name = name;
        }
    }

    private record Known(byte[] bytes, List<Place> children, String content) {}

    private record RootState(String version, Place target) {}

    static final String PREFIX = "hf:{graph:model:0}:";
    private static final long FOR_EVER = 3_600_000;

    private Store store;
    private Jedis redis;
    private RandomGenerator random;
    private SegmentNames names;
    private final boolean byContent;
    private final Map<String, Lease> leases = new TreeMap<>();
    private final Map<String, RootState> roots = new TreeMap<>();
    private final Map<Place, Known> known = new HashMap<>();
    private final List<Runnable> late = new ArrayList<>();
    private List<String> next = List.of();
    private String dropped = "0";
    private int numbered;
    private boolean wasTorn;

    StoreModel(RedisLink link, Jedis redis, RandomGenerator random, boolean byContent) {
        this.redis = redis;
        this.random = random;
        this.store = store(link);
        this.names = new SegmentNames(new ManualTime(), random);
        this.byContent = byContent;
        store.open(byContent ? "content" : "time", FOR_EVER);
    }

    private static Store store(RedisLink link) {
        return new Store(link, new Keyspace("graph", "model", 0), new HolderId("model", 1), 100);
    }

    /** The graph is on another server now. */
    void moveTo(RedisLink link, Jedis other) {
        store = store(link);
        redis = other;
        next = List.of();
    }

    /** Goes on in another way than a model that drew the same numbers so far. */
    void draw(RandomGenerator other) {
        random = other;
        names = new SegmentNames(new ManualTime(), other);
        numbered += 10_000;
    }

    void run(int calls) {
        for (int call = 0; call < calls; call++) {
            anyCall();
            if (call % 7 == 0) {
                check();
            }
        }
        check();
        endAll();
    }

    void anyCall() {
        redis.hset(PREFIX + "meta", "quiet", "0");
        redis.hdel(PREFIX + "meta", "drainer");
        oneCall();
    }

    Store store() {
        return store;
    }

    /** The names of roots and leases, and what they hold. */
    Map<String, Object> holders() {
        Map<String, Object> holders = new HashMap<>();
        roots.forEach((name, root) -> holders.put("root " + name, root));
        leases.forEach((name, lease) -> holders.put("lease " + name, List.of(lease.sequence, Set.copyOf(lease.held))));
        return holders;
    }

    /** After a repair: roots that are doubted are dropped, and the others have the versions that they have. */
    void resync() {
        wasTorn = true;
        String noted = redis.hget(PREFIX + "meta", "dropped");
        dropped = noted == null ? "0" : noted;
        redis.hgetAll(PREFIX + "roots").forEach((name, record) -> {
            String version = record.split(" ")[0];
            RootState root = roots.get(name);
            if (root == null) {
                RootChange drop = new RootChange(name, version, null, false);
                dropped = "resync" + ++numbered;
                store.change(redisMillis() + FOR_EVER, dropped, "", List.of(drop));
            } else {
                roots.put(name, new RootState(version, root.target()));
            }
        });
    }

    /** It is not known what becomes of this root or lease. */
    void doubt(String holder) {
        roots.remove(holder.substring(holder.indexOf(' ') + 1));
        leases.remove(holder.substring(holder.indexOf(' ') + 1));
    }

    private void oneCall() {
        switch (random.nextInt(20)) {
            case 0, 1 -> take();
            case 2, 3, 4, 5, 6, 7 -> put();
            case 8, 9, 10 -> changeRoots();
            case 11 -> release();
            case 12 -> leave();
            case 13 -> kill();
            case 14 -> {
                if (!late.isEmpty()) {
                    late.remove(random.nextInt(late.size())).run();
                }
            }
            case 15 -> pack();
            default -> step();
        }
    }

    /** Calls once, perhaps again with the same answer, perhaps much later. */
    private <T> T call(Supplier<T> call) {
        T answer = call.get();
        if (random.nextInt(4) == 0) {
            assertThat(call.get().toString()).isEqualTo(answer.toString());
        }
        if (random.nextInt(6) == 0) {
            late.add(() -> assertThat(String.valueOf(call.get())).isNotEmpty());
        }
        return answer;
    }

    private void take() {
        Lease lease = new Lease("lease" + ++numbered);
        Place target = random.nextInt(3) == 0 ? null : anyPlace();
        boolean isLate = random.nextInt(10) == 0;
        long until = redisMillis() + (isLate ? -1 : FOR_EVER);
        String status = call(() -> store.hold(lease.name, until, FOR_EVER, "model#1", target)
                        .status())
                .toString();
        boolean alive = target == null || holdsOn(target) > 0;
        // A late repeat cannot be told from a first call that came late.
        assertThat(status).isEqualTo(isLate ? "STALE" : alive ? "OK" : "GONE");
        if (status.equals("OK")) {
            leases.put(lease.name, lease);
            if (target != null) {
                lease.held.add(target);
            }
        } else {
            late.clear(); // what was refused might be granted later
        }
    }

    private void put() {
        Lease lease = anyLease();
        if (lease == null) {
            return;
        }
        Set<Place> held = new HashSet<>(lease.held);
        Map<Place, Known> added = new HashMap<>();
        Map<String, Place> equal = new HashMap<>();
        List<String> answer;
        Batch batch;
        do {
            held.clear();
            held.addAll(lease.held);
            added.clear();
            batch = batch(held, added, equal);
            Batch sent = batch;
            long sequence = ++lease.sequence;
            boolean named = !batch.tops().isEmpty() && random.nextInt(3) == 0;
            if (named) {
                answer = putAndName(lease, sequence, sent);
            } else {
                answer = call(() -> store.put(lease.name, sequence, sent));
            }
            for (int i = 1; answer.get(0).equals("EQUAL") && i < answer.size(); i += 2) {
                int index = Integer.parseInt(answer.get(i));
                Known value = Objects.requireNonNull(added.get(new Place(batch.segment(), index + Place.FIRST)));
                equal.put(value.content(), Place.parse(answer.get(i + 1)));
            }
        } while (answer.get(0).equals("EQUAL") && random.nextInt(8) > 0);
        if (answer.get(0).equals("OK")) {
            known.putAll(added);
            lease.held.clear();
            lease.held.addAll(held);
            lease.held.removeAll(rooted);
        }
    }

    private List<String> putAndName(Lease lease, long sequence, Batch batch) {
        String name = "root" + random.nextInt(4);
        RootState root = roots.get(name);
        String expected = random.nextInt(5) == 0 ? "old" : root == null ? dropped : root.version();
        String version = "v" + ++numbered;
        Place target = batch.tops().first();
        RootChange change = new RootChange(name, expected, target, true);
        List<String> answer = store.put(lease.name, sequence, batch, change, version);
        if (answer.get(0).equals("OK")) {
            boolean fits = expected.equals(root == null ? dropped : root.version());
            assertThat(answer).containsExactly("OK", fits ? "1" : "0");
            assertThat(store.put(lease.name, sequence, batch, change, version)).containsExactly("OK", "0");
            if (fits) {
                roots.put(name, new RootState(version, target));
                rooted.add(target);
            }
        }
        return answer;
    }

    private final Set<Place> rooted = new HashSet<>();

    private Batch batch(Set<Place> held, Map<Place, Known> added, Map<String, Place> equal) {
        rooted.clear();
        Batch batch = new Batch(names.next());
        int values = random.nextInt(4) == 0 ? 25 + random.nextInt(60) : 1 + random.nextInt(8);
        RandomGenerator content = new SplittableRandom(random.nextInt(byContent ? 12 : 1 << 30));
        List<Place> mine = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        Set<Place> taken = new TreeSet<>();
        for (int i = 0; i < values; i++) {
            List<Place> children = new ArrayList<>();
            for (int n = random.nextInt(3); n > 0; n--) {
                Place child =
                        random.nextBoolean() && !mine.isEmpty() ? mine.get(random.nextInt(mine.size())) : anyPlace();
                if (child != null) {
                    children.add(child);
                }
            }
            byte[] bytes = ("v" + content.nextInt(byContent ? 40 : 1 << 30)).getBytes(StandardCharsets.UTF_8);
            String id = byContent ? contentOf(bytes, children, added) : "";
            Place there = equal.get(id);
            if (byContent && (there != null || !seen.add(id))) {
                if (there != null && !held.contains(there) && taken.add(there)) {
                    batch.take(there);
                }
                continue;
            }
            byte[] sha = byContent ? HexFormat.of().parseHex(id) : new byte[0];
            Place place = batch.add(bytes, children, sha, held);
            added.put(place, new Known(bytes, children, id));
            mine.add(place);
        }
        held.addAll(taken);
        held.addAll(batch.tops());
        return batch;
    }

    private String contentOf(byte[] bytes, List<Place> children, Map<Place, Known> added) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes);
            for (Place child : children) {
                Known value = added.getOrDefault(child, known.get(child));
                digest.update((value == null ? child.toString() : value.content()).getBytes(StandardCharsets.UTF_8));
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private void changeRoots() {
        Lease lease = anyLease();
        List<RootChange> changes = new ArrayList<>();
        Set<String> seen = new TreeSet<>();
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
            String name = "root" + random.nextInt(4);
            RootState root = roots.get(name);
            Place target = root != null && random.nextInt(3) == 0 ? null : anyPlace();
            String expected = random.nextInt(8) == 0 ? "old" : root == null ? dropped : root.version();
            if (seen.add(name)) {
                changes.add(new RootChange(name, expected, target, random.nextBoolean()));
            }
        }
        String version = "v" + ++numbered;
        String of = lease == null ? "" : lease.name;
        long until = redisMillis() + (random.nextInt(10) == 0 ? -1 : FOR_EVER);
        Map<Place, Integer> held = new HashMap<>();
        String status = call(() -> store.change(until, version, of, changes).status());
        if (!status.equals("OK")) {
            if (status.equals("GONE")) {
                late.clear();
            }
            return;
        }
        for (RootChange change : changes) {
            RootState root = roots.get(change.name());
            assertThat(change.expected()).isEqualTo(root == null ? dropped : root.version());
            if (change.handed() && lease != null && change.target() != null) {
                held.merge(change.target(), 1, Integer::sum);
            }
        }
        for (RootChange change : changes) {
            if (change.target() == null) {
                roots.remove(change.name());
            } else {
                roots.put(change.name(), new RootState(version, change.target()));
            }
        }
        if (changes.stream().anyMatch(change -> change.target() == null)) {
            dropped = version;
        }
        held.keySet().forEach(place -> Objects.requireNonNull(lease).held.remove(place));
    }

    private void release() {
        Lease lease = anyLease();
        if (lease != null && !lease.held.isEmpty()) {
            Place place = lease.held.iterator().next();
            assertThat(store.release(lease.name, List.of(place, place))).isEqualTo(1);
            assertThat(store.release(lease.name, List.of(place))).isZero();
            lease.held.remove(place);
        }
    }

    private void leave() {
        Lease lease = anyLease();
        if (lease != null) {
            end(lease, false);
        }
    }

    private void kill() {
        Lease lease = anyLease();
        if (lease != null) {
            assertThat(store.leave(lease.name, true)).isEqualTo("RENEWED");
            redis.zadd(PREFIX + "leases", 1, lease.name);
            end(lease, true);
        }
    }

    private void end(Lease lease, boolean isLate) {
        leases.remove(lease.name);
        int pages = 0;
        while (!store.leave(lease.name, isLate).equals("OK")) {
            assertThat(++pages).isLessThan(100);
            redis.hset(PREFIX + "meta", "quiet", "0");
            // The deadline of a record that is kept is in the future.
            redis.zadd(PREFIX + "leases", 1, lease.name);
        }
        assertThat(store.renew(List.of(lease.name)).alive()).isEqualTo("0");
    }

    private void pack() {
        List<String> whole = redis.zrange(PREFIX + "segments", 0, -1);
        if (!whole.isEmpty()) {
            store.pack(whole.get(random.nextInt(whole.size())), 24, 4_096);
        }
    }

    private void step() {
        List<String> declared = random.nextInt(5) == 0 ? redis.zrange(PREFIX + "segments", 0, 3) : next;
        Stepped stepped = store.step(1 + random.nextInt(200), random.nextInt(4) == 0, 16, declared);
        assertThat(stepped.status()).isIn("OK", "QUIET"); // quiet if this machine stood still for seconds
        next = stepped.next();
    }

    void check() {
        StoreState state = new StoreState(redis, PREFIX);
        state.check(wasTorn);
        List<Place> open = new ArrayList<>();
        roots.values().forEach(root -> open.add(root.target()));
        leases.values().forEach(lease -> open.addAll(lease.held));
        Set<Place> seen = new HashSet<>();
        while (!open.isEmpty()) {
            Place place = open.removeLast();
            if (seen.add(place)) {
                StoreState.Value value = state.values.get(place);
                assertThat(value).as("value %s that is held", place).isNotNull();
                Objects.requireNonNull(value);
                assertThat(value.holds()).as("holds on %s", place).isPositive();
                assertThat(value.bytes()).isEqualTo(known(place).bytes());
                assertThat(value.children()).isEqualTo(known(place).children());
                open.addAll(value.children());
            }
        }
    }

    /** Ends every root and lease that is on the server, and drains. */
    void endAll() {
        late.forEach(Runnable::run);
        for (String lease : redis.zrange(PREFIX + "leases", 0, -1)) {
            redis.zadd(PREFIX + "leases", 1, lease);
            end(new Lease(lease), true);
        }
        redis.hgetAll(PREFIX + "roots").forEach((name, record) -> {
            RootChange drop = new RootChange(name, record.split(" ")[0], null, false);
            assertThat(store.change(redisMillis() + FOR_EVER, "last" + name, "", List.of(drop))
                            .status())
                    .isEqualTo("OK");
        });
        roots.clear();
        check();
        for (int steps = 0; ; steps++) {
            redis.hset(PREFIX + "meta", "quiet", "0");
            Stepped stepped = store.step(1_000, steps % 10 < 3, 64, next);
            next = stepped.next();
            if (stepped.status().equals("OK") && stepped.left() == 0) {
                break;
            }
            assertThat(steps).isLessThan(1_000);
        }
        Set<String> keys = redis.keys("*");
        keys.removeIf(key -> key.contains("}:lease"));
        keys.remove(PREFIX + "ledger");
        assertThat(keys).containsOnly(PREFIX + "meta");
        assertThat(redis.hget(PREFIX + "meta", "values")).isEqualTo("0");
    }

    private int holdsOn(Place place) {
        StoreState.Value value = new StoreState(redis, PREFIX).values.get(place);
        return value == null ? 0 : value.holds();
    }

    private Known known(Place place) {
        return Objects.requireNonNull(known.get(place), place::toString);
    }

    private @Nullable Lease anyLease() {
        List<Lease> all = List.copyOf(leases.values());
        return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
    }

    /** Mostly a value that may be there, sometimes one that ended long ago. */
    private @Nullable Place anyPlace() {
        List<Place> all = new ArrayList<>();
        roots.values().forEach(root -> all.add(root.target()));
        leases.values().forEach(lease -> all.addAll(new TreeSet<>(lease.held)));
        if (all.isEmpty() || random.nextInt(20) == 0) {
            all.addAll(new TreeSet<>(known.keySet()));
        } else {
            for (Place place : List.copyOf(all)) {
                all.addAll(known(place).children());
            }
        }
        return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
    }

    private long redisMillis() {
        List<String> time = redis.time();
        return Long.parseLong(time.get(0)) * 1_000 + Long.parseLong(time.get(1)) / 1_000;
    }
}
