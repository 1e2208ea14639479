package io.holdfast.slab;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** What several JVMs do to one file at the same time. */
final class MixedWork {

    static final int KEYS = 600;

    private final SlabCache cache;
    private final RandomGenerator random;
    private final int valueMost;
    private final Runnable onBusy;
    private long hits;

    MixedWork(SlabCache cache, RandomGenerator random, int valueMost) {
        this(cache, random, valueMost, () -> {
            throw new AssertionError("BUSY though nobody is stopped");
        });
    }

    /** @param onBusy throws if a put should not have been BUSY; else it is tried again */
    MixedWork(SlabCache cache, RandomGenerator random, int valueMost, Runnable onBusy) {
        this.cache = cache;
        this.random = random;
        this.valueMost = valueMost;
        this.onBusy = onBusy;
    }

    static SlabCache.Builder builder(Path file, Preset preset) {
        return SlabCache.builder(file)
                .preset(preset)
                .dataPages(preset == Preset.SEED ? 96 : 20)
                .shards(preset == Preset.SEED ? 1 : 2)
                .busyAfter(Duration.ofSeconds(20));
    }

    /** In a child: file, preset, seed, operations at most. Says WRONG if a value is. */
    public static void main(String[] arguments) {
        Consumer<String> point = KillPoint.ofThisJvm();
        RandomGenerator random = new java.util.Random(Long.parseLong(arguments[2]));
        Preset preset = Preset.valueOf(arguments[1]);
        long most = Long.parseLong(arguments[3]);
        try (SlabCache cache = builder(Path.of(arguments[0]), preset)
                .probe(reached -> point.accept(reached.name()))
                .open()) {
            ChildJvm.sayReady();
            MixedWork work = new MixedWork(cache, random, preset == Preset.SEED ? 9_000 : 90_000);
            for (long i = 0; i < most; i++) {
                if (!work.step()) {
                    ChildJvm.say("WRONG");
                    System.exit(1);
                }
            }
            ChildJvm.say("HITS " + work.hits);
        }
        System.exit(0);
    }

    long hits() {
        return hits;
    }

    /** False if a value was wrong. */
    boolean step() {
        int number = (int) (KEYS * random.nextDouble() * random.nextDouble());
        byte[] key = Cargo.key(number);
        switch (random.nextInt(20)) {
            case 0 -> {
                if (random.nextInt(100) == 0) {
                    cache.clearUnnamed();
                } else {
                    cache.remove(key);
                }
            }
            case 1, 2, 3, 4, 5, 6, 7 -> put(number, key);
            case 8 -> {
                Versioned current = cache.getVersioned(key);
                cache.compareAndSet(key, current == null ? 0 : current.version(), value(number));
            }
            case 9 -> {
                return cache.read(
                                key,
                                segment -> Cargo.isOf(number, segment.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE)))
                        .orElse(true);
            }
            default -> {
                byte[] value = cache.get(key);
                hits += value == null ? 0 : 1;
                return value == null || Cargo.isOf(number, value);
            }
        }
        return true;
    }

    private byte[] value(int number) {
        return Cargo.value(number, random, random.nextInt(12) == 0 ? valueMost : 1_200);
    }

    private void put(int number, byte[] key) {
        try {
            byte[] value = value(number);
            boolean lapses = random.nextInt(3) == 0;
            Duration ttl = Duration.ofMillis(random.nextInt(20) == 0 ? 1 : 600_000);
            while ((lapses ? cache.put(key, value, ttl) : cache.put(key, value)).outcome() == PutResult.Outcome.BUSY) {
                onBusy.run();
            }
        } catch (HoldfastException e) {
            if (e.category() != Category.FULL) {
                throw e;
            }
        }
    }
}
