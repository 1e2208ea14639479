package io.holdfast.testkit;

import io.holdfast.testkit.FaultProxy.Direction;
import io.holdfast.testkit.Line.Verdict;
import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * One way of a {@link Connection}: a virtual thread takes bytes into a bounded buffer, another delivers them when the
 * {@link Line} lets it. Requests are judged when they are delivered; the judgements travel to the other way's pump, in
 * order, and meet their replies there.
 */
final class Pump {

    private static final int CHUNK_BYTES = 16 << 10;
    private static final int CHUNKS_MAX = 64;

    private static final class Chunk {

        private final byte[] bytes;
        private final long arrivedNanos = System.nanoTime();

        private Chunk(byte[] bytes) {
            this.bytes = bytes;
        }

        private boolean isGoodbye() {
            return bytes.length == 0;
        }
    }

    private final Direction direction;
    private final Socket from;
    private final Socket to;
    private final Line line;
    private final Queue<Verdict> inFlight;
    private final Connection connection;
    private final BlockingQueue<Chunk> taken = new ArrayBlockingQueue<>(CHUNKS_MAX);
    private final RespReader reader;
    private final Thread taker;
    private final Thread deliverer;
    private Verdict verdict = Verdict.ARRIVES;
    private volatile boolean endedHere;

    Pump(Direction direction, Socket from, Socket to, Line line, Queue<Verdict> inFlight, Connection connection) {
        this.direction = direction;
        this.from = from;
        this.to = to;
        this.line = line;
        this.inFlight = inFlight;
        this.connection = connection;
        this.reader = new RespReader(direction == Direction.TO_SERVER);
        this.taker = Thread.ofVirtual().unstarted(this::take);
        this.deliverer = Thread.ofVirtual().unstarted(this::deliver);
    }

    void start() {
        taker.start();
        deliverer.start();
    }

    void stop() {
        taker.interrupt();
        deliverer.interrupt();
    }

    private void take() {
        byte[] buffer = new byte[CHUNK_BYTES];
        try {
            int count;
            do {
                count = from.getInputStream().read(buffer);
                taken.put(new Chunk(Arrays.copyOf(buffer, Math.max(0, count))));
            } while (count > 0);
        } catch (IOException e) {
            if (!endedHere) {
                connection.reset(); // what happens to one side happens to the other
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the connection has ended
        }
    }

    private void deliver() {
        try {
            while (true) {
                Chunk chunk = taken.take();
                line.awaitTurn(direction, chunk.arrivedNanos);
                if (chunk.isGoodbye()) {
                    to.shutdownOutput();
                    break;
                }
                if (!deliver(chunk.bytes)) {
                    return;
                }
            }
            connection.wayEnded();
        } catch (IOException e) {
            connection.reset();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the connection has ended
        }
    }

    /** Whether the connection lives on. */
    private boolean deliver(byte[] bytes) throws IOException {
        int upToVictim = direction == Direction.TO_SERVER ? judge(bytes) : meet(bytes);
        int allowed = line.allowed(direction, upToVictim);
        to.getOutputStream().write(bytes, 0, allowed);
        if (allowed < upToVictim) {
            line.strike(); // first, so that who sees the end also sees that it was the fault
            endHere();
            return false;
        }
        if (upToVictim < bytes.length) {
            line.strike();
            if (direction == Direction.TO_SERVER) {
                endHere();
            } else {
                connection.reset();
            }
            return false;
        }
        return true;
    }

    /** Judges the requests in these bytes; returns where the one that is lost starts, or the end. */
    private int judge(byte[] bytes) {
        int start = 0;
        int at = 0;
        while (true) {
            RespReader.Event event = reader.next(bytes, at, bytes.length);
            at = reader.position();
            switch (event) {
                case START -> start = at;
                case NAME -> {
                    verdict = line.verdict(reader.name());
                    if (verdict == Verdict.IS_LOST) {
                        return start;
                    }
                }
                case END -> {
                    inFlight.add(verdict);
                    verdict = Verdict.ARRIVES;
                }
                case MORE, OPAQUE -> {
                    return bytes.length;
                }
            }
        }
    }

    /** Meets the replies in these bytes with their requests; returns where the one that is lost starts, or the end. */
    private int meet(byte[] bytes) {
        int at = 0;
        while (true) {
            RespReader.Event event = reader.next(bytes, at, bytes.length);
            at = reader.position();
            switch (event) {
                case START -> {
                    boolean answer = reader.type() != '>';
                    if (answer && inFlight.poll() == Verdict.REPLY_IS_LOST) {
                        return at;
                    }
                }
                case NAME, END -> {}
                case MORE, OPAQUE -> {
                    return bytes.length;
                }
            }
        }
    }

    /**
     * The receiver gets what was delivered and then the end of the stream, the sender a reset. A reset to both could
     * overtake what was delivered: a server that has not yet taken the connection would never look at it.
     */
    private void endHere() throws IOException {
        endedHere = true;
        to.shutdownOutput();
        Connection.reset(from);
    }
}
