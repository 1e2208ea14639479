package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.Seeds;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Manager, workers and nodes of the product in a world that loses, repeats, reorders, delays and corrupts what is sent,
 * kills each of them at any moment, lets a node lie and a snapshot take minutes to open, and runs two managers at once.
 * Whatever happens, no live piece is trashed; when the world is healed, clean cycles trash all garbage, later ones delete it
 * for good, and without lies nobody is accused of one.
 */
class TransportSimulation {

    /** The warnings of a thousand troubled cycles; kept, so that its level is. */
    private final Logger logger = Logger.getLogger("io.holdfast.sweep");

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    @BeforeEach
    void quiet() {
        logger.setLevel(Level.OFF);
    }

    @AfterEach
    void loud() {
        logger.setLevel(null);
    }

    @Test
    void noLivePieceIsTrashedAndGarbageGoesInTheEnd() {
        Seeds.of(300).twoAtATime().run((seed, random) -> simulate(seed, random, SimFleet.Bug.NONE));
    }

    @ParameterizedTest
    @EnumSource(
            value = SimFleet.Bug.class,
            names = {"NONE"},
            mode = EnumSource.Mode.EXCLUDE)
    void aPlantedMistakeIsFound(SimFleet.Bug bug) {
        assertThatThrownBy(() -> {
                    for (long seed = 1; seed <= 300; seed++) {
                        simulate(seed, Seeds.random(seed), bug);
                    }
                })
                .isInstanceOf(AssertionError.class);
    }

    private void simulate(long seed, RandomGenerator random, SimFleet.Bug bug) throws IOException {
        SimWorld world = new SimWorld(random);
        try (SimFleet fleet = new SimFleet(world, folder.resolve(bug + "-" + seed), bug)) {
            fill(fleet, random);
            world.run(Duration.ofDays(10));
            boolean lies = random.nextInt(4) == 0;
            worsen(fleet, random, lies);
            if (bug == SimFleet.Bug.ATTEMPT_IGNORED) {
                loseWorkers(fleet);
            }
            for (int i = 0; i < 3; i++) {
                troubledCycle(fleet, random, i);
                fleet.checkLive();
                change(fleet, random);
            }
            boolean accused = !fleet.log().state(SimFleet.OWNER).alarms().isEmpty();
            if (accused && !lies) {
                throw new AssertionError("an alarm without a lie: "
                        + fleet.log().state(SimFleet.OWNER).alarms());
            }
            heal(fleet);
        }
    }

    private static void fill(SimFleet fleet, RandomGenerator random) {
        for (SimFleet.SimNode node : fleet.nodes) {
            int live = 40 + random.nextInt(80);
            for (int i = 0; i < live; i++) {
                PieceId id = put(node, random);
                fleet.catalogue.add(node.id(), id);
            }
            for (int i = 0; i < live / 4; i++) {
                node.garbage.add(put(node, random));
            }
        }
    }

    private static PieceId put(SimFleet.SimNode node, RandomGenerator random) {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        PieceId id = PieceId.of(bytes);
        node.store.put(SimFleet.OWNER, id, new ByteArrayInputStream(bytes));
        return id;
    }

    private static void worsen(SimFleet fleet, RandomGenerator random, boolean lies) {
        SimWorld world = fleet.world;
        world.lose = random.nextInt(3) * 0.05;
        world.repeat = random.nextInt(3) * 0.1;
        world.delay = random.nextInt(3) * 0.1;
        world.corrupt = lies ? 0.05 : 0;
        fleet.catalogue.failRate = random.nextInt(4) == 0 ? 0.3 : 0;
        if (random.nextInt(4) == 0) {
            fleet.catalogue.opening = () -> world.run(Duration.ofMinutes(5));
        }
        if (lies && random.nextBoolean()) {
            fleet.nodes.getLast().lies = true;
        }
    }

    /** Workers die soon in each cycle, and old frames arrive late: what a worker that mixes up attempts falls for. */
    private static void loseWorkers(SimFleet fleet) {
        fleet.world.lose = 0;
        fleet.world.corrupt = 0;
        fleet.world.repeat = 0.5;
        fleet.catalogue.failRate = 0;
        fleet.catalogue.opening = () -> fleet.world.later(
                fleet.world.between(1, 300), fleet.workers.get(fleet.world.random.nextInt(fleet.workers.size()))::kill);
    }

    /** A cycle in which something dies, or another manager comes in between. */
    private static void troubledCycle(SimFleet fleet, RandomGenerator random, int number) {
        SimWorld world = fleet.world;
        SimFleet.SimManager manager = fleet.new SimManager("manager-" + number);
        for (int i = random.nextInt(4); i > 0; i--) {
            world.later(world.between(1, 4_000), trouble(fleet, manager, random));
        }
        run(manager);
        world.run(Duration.ofMinutes(3));
    }

    private static Runnable trouble(SimFleet fleet, SimFleet.SimManager manager, RandomGenerator random) {
        return switch (random.nextInt(7)) {
            case 0, 1 -> fleet.workers.get(random.nextInt(fleet.workers.size()))::kill;
            case 2 -> fleet.nodes.get(random.nextInt(fleet.nodes.size()))::kill;
            case 3 -> fleet.nodes.get(random.nextInt(fleet.nodes.size()))::killInMidTrash;
            case 4 -> () -> manager.killed = true;
            default ->
                () -> {
                    // The first manager sleeps through its lease; the second runs a whole cycle meanwhile.
                    fleet.world.time.advance(Duration.ofMinutes(2));
                    run(fleet.new SimManager("second"));
                };
        };
    }

    private static void run(SimFleet.SimManager manager) {
        try {
            manager.run();
        } catch (HoldfastException e) {
            assertThat(e.category()).isNotEqualTo(Category.MISUSE);
        } catch (Killed e) {
            // its end
        }
    }

    /** Between cycles: some pieces are no longer wanted, some come, some are uploaded and not yet committed. */
    private static void change(SimFleet fleet, RandomGenerator random) {
        for (SimFleet.SimNode node : fleet.nodes) {
            for (PieceId id : java.util.List.copyOf(fleet.catalogue.of(node.id()))) {
                if (random.nextInt(20) == 0) {
                    fleet.catalogue.remove(node.id(), id);
                    node.garbage.add(id);
                }
            }
            for (int i = random.nextInt(4); i > 0; i--) {
                PieceId id = put(node, random);
                fleet.world.later(Duration.ofHours(1), () -> fleet.catalogue.add(node.id(), id));
            }
        }
        fleet.world.run(Duration.ofMinutes(random.nextInt(120)));
    }

    private static void heal(SimFleet fleet) throws IOException {
        SimWorld world = fleet.world;
        world.lose = 0;
        world.repeat = 0;
        world.delay = 0;
        world.corrupt = 0;
        fleet.catalogue.failRate = 0;
        fleet.catalogue.opening = () -> {};
        fleet.nodes.forEach(node -> node.lies = false);
        world.run(Duration.ofDays(4));
        fleet.checkLive();
        fleet.log().endAlarms(SimFleet.OWNER);
        for (int i = 0; i < 2; i++) {
            CycleReport report = fleet.new SimManager("clean-" + i).run();
            fleet.checkLive();
            assertThat(report.in("failed"))
                    .as("nodes that fail in a clean cycle")
                    .isEmpty();
            world.run(Duration.ofHours(1));
        }
        assertThat(fleet.garbageLeft()).as("garbage after clean cycles").isZero();
        assertThat(fleet.log().state(SimFleet.OWNER).alarms()).isEmpty();
        assertThat(fleet.new SimManager("early").empty().removed())
                .as("deleted for good before a cycle has confirmed it")
                .isZero();
        for (int i = 0; i < 4 && fleet.garbageInTrash() > 0; i++) {
            world.run(Duration.ofDays(8));
            fleet.new SimManager("later-" + i).run();
            assertThat(fleet.new SimManager("emptying-" + i).empty().failures()).isEmpty();
            fleet.checkLive();
        }
        assertThat(fleet.garbageInTrash())
                .as("garbage that two cycles agree on")
                .isZero();
    }
}
