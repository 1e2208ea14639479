package io.holdfast.sweep.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.ManualTime;
import io.holdfast.Time;
import io.holdfast.sweep.node.Fleet;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.SendWindow;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class OutboxTest {

    private static final SessionKey SESSION = new SessionKey(Fleet.PHOTOS, 1, 1, 1);
    private static final int SCANNERS = 4;
    private static final int NODES = 3;
    private static final int BATCHES = 400;

    /** Found by the bench: a scanner that waited held batches which another scanner's frame then overtook. */
    @Test
    void batchesOfANodeStayInOrderWhenScannersWaitForRoom() throws Exception {
        LinkedBlockingQueue<Frame> wire = new LinkedBlockingQueue<>();
        SlowWorker worker = new SlowWorker(wire);
        Time time = Time.system();
        Outbox outbox = new Outbox(
                worker,
                SESSION,
                new SendWindow(SESSION, 400, time.nanoTime()),
                4,
                Duration.ofSeconds(30),
                Pause.REAL,
                time);
        outbox.open();
        long[] last = new long[NODES];
        List<Callable<Boolean>> scanners = new ArrayList<>();
        for (int i = 0; i < SCANNERS; i++) {
            int scanner = i;
            scanners.add(() -> {
                for (int batch = 0; batch < BATCHES; batch++) {
                    int node = (scanner + batch) % NODES;
                    synchronized (worker.turns[node]) {
                        outbox.send(new NodeBatch(node, last[node] + 1, new long[2]));
                        last[node]++;
                    }
                }
                return true;
            });
        }
        Thread acknowledging = Thread.ofPlatform().daemon().start(worker::acknowledge);
        try (ExecutorService threads = Executors.newFixedThreadPool(SCANNERS)) {
            for (var done : threads.invokeAll(scanners)) {
                assertThat(done.get()).isTrue();
            }
        }
        assertThat(outbox.finish()).isTrue();
        acknowledging.interrupt();
        assertThat(worker.outOfOrder).isEmpty();
        assertThat(worker.seen).containsExactly(last);
    }

    /** It is slow but alive: it asks for frames that it has, again and again, and acknowledges none. */
    @Test
    void workerThatRepliesButAcknowledgesNothingIsGivenUp() throws Exception {
        ManualTime time = new ManualTime();
        LinkedBlockingQueue<Frame> wire = new LinkedBlockingQueue<>();
        SlowWorker worker = new SlowWorker(wire);
        int[] waits = {0};
        Pause pause = (monitor, atMost) -> {
            time.advance(atMost);
            worker.replies.reply(FrameReply.acknowledge(0));
            if (++waits[0] > 10_000) {
                throw new AssertionError("it is not given up");
            }
        };
        Outbox outbox = new Outbox(
                worker, SESSION, new SendWindow(SESSION, 400, time.nanoTime()), 4, Duration.ofSeconds(30), pause, time);
        outbox.open();
        outbox.send(new NodeBatch(0, 1, new long[2]));
        assertThat(outbox.finish()).isFalse();
        assertThat(outbox.givenUp()).contains("did not acknowledge a frame for 30s");
    }

    /** Acknowledges one frame at a time, and looks at the numbers. */
    private static final class SlowWorker implements WorkerPort {
        private final LinkedBlockingQueue<Frame> wire;
        private final Object[] turns = {new Object(), new Object(), new Object()};
        private final long[] seen = new long[NODES];
        private final List<NodeBatch> outOfOrder = new ArrayList<>();
        private volatile Replies replies = new Replies() {
            @Override
            public void reply(FrameReply reply) {}

            @Override
            public void broken(HoldfastException why) {}
        };

        SlowWorker(LinkedBlockingQueue<Frame> wire) {
            this.wire = wire;
        }

        void acknowledge() {
            try {
                while (true) {
                    Frame frame = wire.take();
                    for (NodeBatch batch : frame.batches()) {
                        if (batch.firstSequence() != seen[batch.ordinal()] + 1) {
                            outOfOrder.add(batch);
                        }
                        seen[batch.ordinal()] = batch.lastSequence();
                    }
                    LockSupport.parkNanos(1000);
                    replies.reply(FrameReply.acknowledge(frame.number()));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public String address() {
            return "slow";
        }

        @Override
        public Pong ping() {
            return new Pong(1, 0, 0, "slow");
        }

        @Override
        public void start(SessionStart start) {}

        @Override
        public Link open(SessionKey session, Replies to) {
            replies = to;
            return new Link() {
                @Override
                public void send(Frame frame) {
                    wire.add(frame);
                }

                @Override
                public void close() {}
            };
        }

        @Override
        public List<NodeBuilt> end(SessionKey session, Map<NodeId, Long> endings) {
            return List.of();
        }

        @Override
        public Optional<HoldfastException> deliver(SessionKey session, NodeId node, String address, Signed manifest) {
            return Optional.empty();
        }

        @Override
        public void drop(SessionKey session) {}
    }
}
