package io.holdfast.slab;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.KillPoint;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * JVMs that are killed with SIGKILL at every named point of put, remove, move and repair, while others use the same
 * file. 100 cycles by default, {@code -Dcycles=1000} on demand, {@code -Dseed=N} for others.
 */
class KilledJvmIT {

    private static final int AT_A_TIME = 3;
    /** A put that waits for longer is BUSY. */
    private static final Duration OTHERS_GO_ON_WITHIN = Duration.ofSeconds(1);
    /** That fails the test, unless this much of it was the machine's, which gave one of the JVMs no processor. */
    private static final Duration MACHINE_MAY_TAKE = OTHERS_GO_ON_WITHIN.dividedBy(10);

    @TempDir
    Path directory;

    private static int cycles() {
        String given = System.getProperty("cycles", "");
        return given.isEmpty() ? 100 : Integer.parseInt(given);
    }

    private static long seed() {
        String given = System.getProperty("seed", "");
        return given.isEmpty() ? 42 : Long.parseLong(given);
    }

    @ParameterizedTest
    @EnumSource(Preset.class)
    void deathAtAnyNamedPointNeitherBlocksNorCorruptsTheOthers(Preset preset) {
        Path file = directory.resolve("cache");
        SplittableRandom random = new SplittableRandom(seed());
        Map<Probe.Point, Integer> killed = new EnumMap<>(Probe.Point.class);
        try (SlabCache cache =
                MixedWork.builder(file, preset).busyAfter(OTHERS_GO_ON_WITHIN).open()) {
            Deque<Victim> victims = new ArrayDeque<>();
            Patience patience = new Patience(
                    () -> victims.stream().map(victim -> victim.jvm.pid()).toList());
            MixedWork work = new MixedWork(cache, new java.util.Random(7), 9_000, patience::busy);
            for (int cycle = 0; cycle < cycles() / 2 || !victims.isEmpty(); cycle++) {
                if (cycle < cycles() / 2) {
                    victims.add(start(file, preset, cycle, random));
                }
                if (victims.size() >= AT_A_TIME || cycle >= cycles() / 2) {
                    Victim victim = victims.element();
                    awaitEnd(victim, work, patience);
                    victims.remove();
                    if (victim.jvm.awaitExit() == 128 + 9) {
                        killed.merge(victim.point, 1, Integer::sum);
                    } else {
                        assertThat(victim.jvm.awaitExit())
                                .as(victim.jvm.errors())
                                .isZero();
                    }
                    victim.jvm.close();
                    // The others go on: a put of this JVM that had waited for longer would have been BUSY.
                    patience.calm();
                    assertThat(work.step()).isTrue();
                    assertThat(cache.audit().problems())
                            .as("after death at " + victim.point)
                            .isEmpty();
                }
            }
            assertThat(work.hits()).isPositive();
            assertThat(cache.stats().thefts()).isPositive();
            assertThat(cache.stats().salvages()).isZero();
            assertThat(killed.values().stream().mapToInt(Integer::intValue).sum())
                    .as("killed at " + killed)
                    .isGreaterThan(cycles() / 4);
        }
    }

    private record Victim(ChildJvm jvm, Probe.Point point) {}

    private static Victim start(Path file, Preset preset, int cycle, SplittableRandom random) {
        Probe.Point[] points = Probe.Point.values();
        Probe.Point point = points[cycle % (points.length - 3)];
        ChildJvm jvm = ChildJvm.of(MixedWork.class)
                .arguments(file, preset, random.nextLong(), 4_000)
                .killAt(KillPoint.at(point.name(), 1 + random.nextInt(40)))
                .launch();
        return new Victim(jvm, point);
    }

    /** Knows for how long the machine kept the JVMs waiting; a put waits for no more than a second on its own account. */
    private static final class Patience {

        private static final long LOOK_NANOS = Duration.ofMillis(100).toNanos();

        private final Supplier<List<Long>> others;
        private final ProcessorWaits waits = new ProcessorWaits();
        private long lookedAt = System.nanoTime() - LOOK_NANOS;
        private Duration onItsOwn = Duration.ZERO;

        Patience(Supplier<List<Long>> others) {
            this.others = others;
        }

        private Duration look() {
            lookedAt = System.nanoTime();
            return waits.look(Stream.concat(
                            others.get().stream(),
                            Stream.of(ProcessHandle.current().pid()))
                    .toList());
        }

        /** Between puts: from here the next one counts. */
        void calm() {
            onItsOwn = Duration.ZERO;
            if (System.nanoTime() - lookedAt >= LOOK_NANOS) {
                look();
            }
        }

        void busy() {
            Duration machine = look();
            onItsOwn = onItsOwn.plus(OTHERS_GO_ON_WITHIN).minus(machine);
            assertThat(onItsOwn)
                    .as("BUSY though nobody is stopped, and no JVM waited for a processor longer than " + machine)
                    .isLessThan(OTHERS_GO_ON_WITHIN.minus(MACHINE_MAY_TAKE));
        }
    }

    private static void awaitEnd(Victim victim, MixedWork work, Patience patience) {
        while (victim.jvm.isAlive()) {
            for (int i = 0; i < 60; i++) {
                patience.calm();
                assertThat(work.step()).as("a value of this JVM").isTrue();
            }
            java.util.concurrent.locks.LockSupport.parkNanos(4_000_000); // the others need the processor, too
        }
    }

    @Test
    void killedAtRandomTimes() {
        Path file = directory.resolve("random");
        SplittableRandom random = new SplittableRandom(seed() + 1);
        try (SlabCache cache = MixedWork.builder(file, Preset.ADAPTIVE)
                .busyAfter(OTHERS_GO_ON_WITHIN)
                .open()) {
            List<Long> others = new ArrayList<>();
            Patience patience = new Patience(() -> others);
            MixedWork work = new MixedWork(cache, new java.util.Random(8), 90_000, patience::busy);
            for (int cycle = 0; cycle < Math.max(5, cycles() / 20); cycle++) {
                try (ChildJvm jvm = ChildJvm.of(MixedWork.class)
                        .arguments(file, Preset.ADAPTIVE, random.nextLong(), Long.MAX_VALUE)
                        .start()) {
                    others.add(jvm.pid());
                    for (int i = random.nextInt(3_000); i > 0; i--) {
                        patience.calm();
                        assertThat(work.step()).isTrue();
                    }
                    jvm.kill();
                    others.clear();
                    for (int i = 0; i < 1_000; i++) {
                        patience.calm();
                        assertThat(work.step()).isTrue();
                    }
                }
                assertThat(cache.audit().problems()).isEmpty();
            }
        }
    }
}
