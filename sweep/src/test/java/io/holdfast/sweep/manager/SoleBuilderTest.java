package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.MemoryFolder;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.sweep.worker.PlantedWorkers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With one builder a stolen worker can make a live piece look like garbage. It cannot confirm its own lie. */
class SoleBuilderTest {

    @TempDir(factory = MemoryFolder.class)
    private Path folder;

    private PlainFleet fleet;
    private PieceId wronged;

    @BeforeEach
    void open() throws IOException {
        fleet = new PlainFleet(folder);
        fleet.node("n1", 2000, 40).worker("honest").dryRun();
        wronged = fleet.live("n1").get(1000);
        fleet.workers.clear();
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    private void thief(String name) {
        Set<Fingerprint> withheld = Set.of(Fingerprint.of(wronged.bytes()));
        fleet.worker(
                name,
                (incarnation, delivery) ->
                        PlantedWorkers.withholding(incarnation, fleet.ring, delivery, fleet.time, withheld));
    }

    private void thiefTrashesALivePiece() throws IOException {
        fleet.age();
        fleet.manager().run();
        assertThat(fleet.liveTrashed()).as("the thief did harm").isEqualTo(1);
    }

    private void assertNotGone() throws IOException {
        fleet.emptyAfterAWeek();
        fleet.emptyAfterAWeek();
        assertThat(fleet.store("n1").why(wronged).facts())
                .as("the live piece is still in the trash")
                .isPresent();
        fleet.workers.clear();
        fleet.worker("honest");
        fleet.emptyAfterAWeek();
        assertThat(Fleet.live(fleet.store("n1"), PlainFleet.OWNER))
                .as("an honest filter brings it back")
                .contains(wronged);
    }

    @Test
    void workerOfAFleetOfOneCannotConfirmItsOwnFilter() throws IOException {
        thief("thief");
        thiefTrashesALivePiece();
        assertNotGone();
    }

    @Test
    void workerThatIsAloneForOneCycleCannotConfirmItsOwnFilter() throws IOException {
        thief("thief");
        thiefTrashesALivePiece();
        fleet.worker("honest");
        fleet.workers.computeIfPresent("honest", (name, port) -> away((PlainFleet.DirectWorker) port));
        assertNotGone();
    }

    private static WorkerPort away(PlainFleet.DirectWorker port) {
        return new PlainFleet.DirectWorker(port.address(), port.worker) {
            @Override
            public Pong ping() {
                throw new HoldfastException(Category.RETRY, "it cannot be reached");
            }
        };
    }

    @Test
    void workerWithTwoAddressesAndNoProofCannotConfirmItsOwnFilter() throws IOException {
        for (String address : Set.of("10.0.0.9:7001", "10.0.0.9:7002")) {
            thief(address);
            fleet.workers.computeIfPresent(address, (name, port) -> unproven((PlainFleet.DirectWorker) port));
        }
        thiefTrashesALivePiece();
        assertNotGone();
    }

    private static WorkerPort unproven(PlainFleet.DirectWorker port) {
        return new PlainFleet.DirectWorker(port.address(), port.worker) {
            @Override
            public Pong ping() {
                Pong pong = super.ping();
                return new Pong(pong.incarnation(), pong.filterMemory(), pong.filterMemoryUsed(), "");
            }
        };
    }

    @Test
    void twoWorkersThatProveWhoTheyAreEmptyTheTrash() throws IOException {
        fleet.worker("w1").worker("w2");
        assertGarbageGoes();
    }

    /** Where nothing is proved, a worker is told from another by the host that an operator has named. */
    @Test
    void workersOnTwoHostsThatAnOperatorHasNamedEmptyTheTrash() throws IOException {
        named("10.0.0.21:7001");
        named("10.0.0.22:7001");
        assertGarbageGoes();
    }

    @Test
    void workersOnOneHostKeepTheTrashAndThatIsSaid() throws IOException {
        named("10.0.0.21:7001");
        named("10.0.0.21:7002");
        fleet.age();
        fleet.manager().run();
        SweepManager.Emptied emptied = fleet.emptyAfterAWeek();
        assertThat(emptied.removed()).isZero();
        assertThat(emptied.kept().values()).singleElement().asString().contains("another worker");
    }

    @Test
    void workerThatIsBelievedEmptiesTheTrashAlone() throws IOException {
        fleet.worker("w1");
        fleet.believingOneWorker();
        assertGarbageGoes();
    }

    private void assertGarbageGoes() throws IOException {
        fleet.age();
        fleet.manager().run();
        assertThat(fleet.inTrash("n1")).isEqualTo(40);
        fleet.emptyAfterAWeek();
        assertThat(fleet.inTrash("n1")).isZero();
        assertThat(fleet.garbageLeft("n1") + fleet.liveTrashed()).isZero();
    }

    private void named(String address) {
        fleet.worker(address);
        fleet.workers.computeIfPresent(
                address, (name, port) -> new PlainFleet.DirectWorker(name, ((PlainFleet.DirectWorker) port).worker) {
                    @Override
                    public String host() {
                        return name.substring(0, name.indexOf(':'));
                    }

                    @Override
                    public Pong ping() {
                        Pong pong = super.ping();
                        return new Pong(pong.incarnation(), pong.filterMemory(), pong.filterMemoryUsed(), "");
                    }
                });
    }
}
