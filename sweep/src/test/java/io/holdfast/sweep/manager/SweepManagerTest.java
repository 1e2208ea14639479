package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.Time;
import io.holdfast.sweep.catalogue.InMemoryCatalogue;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.node.NodeAgent;
import io.holdfast.sweep.node.NodeProgress;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.retain.SigningKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SweepManagerTest {

    @TempDir
    private Path folder;

    /** Nodes that answer only when as many are asked as may be at once, and then that they are out of reach. */
    private static final class Silent {
        private final CountDownLatch asked = new CountDownLatch(SweepManager.CALLERS);
        private final AtomicInteger now = new AtomicInteger();
        private final AtomicInteger most = new AtomicInteger();

        NodePort node(String name) {
            return new NodePort() {
                @Override
                public NodeId id() {
                    return new NodeId(name);
                }

                @Override
                public String address() {
                    return "127.0.0.1:1";
                }

                @Override
                public NodeProgress progress(OwnerId owner, long cycle) {
                    most.accumulateAndGet(now.incrementAndGet(), Math::max);
                    asked.countDown();
                    try {
                        if (!asked.await(10, TimeUnit.SECONDS)) {
                            throw new IllegalStateException("the nodes are asked one after the other");
                        }
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    } finally {
                        now.decrementAndGet();
                    }
                    throw new HoldfastException(Category.RETRY, "out of reach");
                }

                @Override
                public NodeAgent.Carried carry(Signed order) {
                    throw new IllegalStateException("nothing is ordered");
                }
            };
        }
    }

    @Test
    void nodesAreAskedAtTheSameTimeUpToABound() throws IOException {
        Silent silent = new Silent();
        List<NodePort> nodes = new ArrayList<>();
        for (int i = 0; i < 3 * SweepManager.CALLERS; i++) {
            nodes.add(silent.node("n" + i));
        }
        CycleReport report = SweepManager.of(
                        new InMemoryCatalogue(Fleet.PHOTOS, "db-1", Time.system()),
                        SigningKey.generate("manager-1"),
                        new FileCycleStore(folder.resolve("log")),
                        "test")
                .nodes(nodes)
                .run();
        assertThat(report.in("failed"))
                .hasSize(nodes.size())
                .allSatisfy(node -> assertThat(node.detail()).isEqualTo("out of reach"));
        assertThat(silent.most.get()).isEqualTo(SweepManager.CALLERS);
    }
}
