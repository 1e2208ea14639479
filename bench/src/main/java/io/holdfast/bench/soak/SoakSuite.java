package io.holdfast.bench.soak;

import io.holdfast.ManualTime;
import io.holdfast.Why;
import io.holdfast.app.verify.SystemVerify;
import io.holdfast.app.why.Whys;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.app.wiring.PieceLeaf;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.bench.Contest;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.Suite;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.session.Sessions;
import io.holdfast.slab.SlabCache;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.RedisServer;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * All parts at once under load, with processes killed at random: memory must stay flat, what is held must stay there, and
 * verify must find nothing at the end. It has no peer: its goals are absolute.
 */
public final class SoakSuite implements Suite {

    private static final int WORKERS = 3;
    private static final int PHOTOS = 20;
    private static final Duration A_CYCLE = Duration.ofDays(2);

    @Override
    public String name() {
        return "soak";
    }

    @Override
    public String description() {
        return "all parts at once under load, with random kills; --minutes says for how long";
    }

    @Override
    public void measure(Run run) throws Exception {
        Path folder = Files.createTempDirectory("holdfast-soak");
        try (RedisServer redis = RedisServer.start();
                SlabCache slab = SlabCache.open(folder.resolve("cache"), SlabCache.mebibytes(16));
                Holdfast holdfast = Holdfast.builder()
                        .uri(redis.uri().toString())
                        .set(RedisLedger.CAPACITY, SoakWorker.LEDGER_CAPACITY)
                        .open()) {
            new Soak(run, redis, slab, holdfast, folder).run();
        } finally {
            try (Stream<Path> all = Files.walk(folder)) {
                all.sorted(Comparator.reverseOrder())
                        .forEach(path -> path.toFile().delete());
            }
        }
    }

    /** One run. */
    private static final class Soak {

        private final Run run;
        private final RedisServer redis;
        private final SlabCache slab;
        private final Holdfast holdfast;
        private final Path folder;
        private final ValueGraph photos;
        private final GraphCatalogue catalogue;
        private final List<ChildJvm> workers = new ArrayList<>();
        private final List<StorageNode> nodes = new ArrayList<>();
        private final Deque<PieceId> live = new ArrayDeque<>();
        private final Deque<ValueId> leaves = new ArrayDeque<>();
        private final ManualTime days = new ManualTime();
        private final SplittableRandom random = new SplittableRandom();
        private final List<Double> redisMemory = new ArrayList<>();
        private final List<Double> heap = new ArrayList<>();
        private final AtomicLong flushed = new AtomicLong();
        private long kills;
        private long cycles;
        private long trashed;
        private long pieces;
        private long lost;

        Soak(Run run, RedisServer redis, SlabCache slab, Holdfast holdfast, Path folder) {
            this.run = run;
            this.redis = redis;
            this.slab = slab;
            this.holdfast = holdfast;
            this.folder = folder;
            this.photos = holdfast.graph("photos");
            this.catalogue = GraphCatalogue.of(photos);
        }

        void run() throws Exception {
            days.setWall(Instant.now().minus(Duration.ofDays(3_650)));
            for (String name : List.of("n1", "n2")) {
                nodes.add(StorageNode.at(folder.resolve(name), name).time(days).open());
            }
            SessionSnapshots snapshots = new SessionSnapshots(holdfast, "readers", "docs");
            try (Aggregates<Long> visits = SoakWorker.visits(holdfast)
                            .sink(batch -> flushed.addAndGet(batch.size()))
                            .start();
                    Sessions closer = SoakWorker.sessions(holdfast)
                            .onClose(snapshots::release)
                            .start()) {
                for (int i = 0; i < WORKERS; i++) {
                    workers.add(startWorker());
                }
                load();
                workers.forEach(this::end);
                settle(closer);
                rows(closer, visits);
            } finally {
                workers.forEach(ChildJvm::close);
                for (StorageNode node : nodes) {
                    node.close();
                }
            }
        }

        private ChildJvm startWorker() {
            return ChildJvm.of(SoakWorker.class)
                    .options("-Xmx256m")
                    .arguments(redis.uri(), slab.file(), random.nextLong())
                    .start();
        }

        private void load() throws Exception {
            long seconds = run.quick() ? 20 : 60L * run.minutes();
            long begun = System.nanoTime();
            for (long second = 0; second < seconds; second++) {
                storePhotos();
                if (second % 7 == 6) {
                    killOne();
                }
                if (second % 3 == 2) {
                    cycle();
                }
                if (second % 5 == 4) {
                    sample(second);
                }
                long due = begun + TimeUnit.SECONDS.toNanos(second + 1);
                TimeUnit.NANOSECONDS.sleep(Math.max(0, due - System.nanoTime()));
            }
        }

        /** A few new photos, and the oldest go: the root moves on every second. */
        private void storePhotos() throws Exception {
            try (GraphWriter writer = photos.writer()) {
                for (int i = 0; i < 2; i++) {
                    byte[] id = ByteBuffer.allocate(32).putLong(++pieces).array();
                    PieceId piece = PieceId.of(id);
                    List<PieceLeaf.Piece> copies = new ArrayList<>();
                    for (StorageNode node : nodes) {
                        node.put(catalogue.owner(), piece, new ByteArrayInputStream(id));
                        copies.add(new PieceLeaf.Piece(node.id(), piece));
                    }
                    live.addLast(piece);
                    leaves.addLast(writer.put(PieceLeaf.of(copies)));
                }
                while (leaves.size() > PHOTOS) {
                    leaves.removeFirst();
                    live.removeFirst();
                }
                photos.root("album").set(writer.put(new byte[] {1}, List.copyOf(leaves)));
            }
        }

        private void killOne() {
            ChildJvm worker = workers.remove(random.nextInt(workers.size()));
            worker.kill();
            worker.close();
            kills++;
            workers.add(startWorker());
        }

        private void cycle() throws Exception {
            days.advance(A_CYCLE);
            Sweep sweep = Sweep.of(catalogue).nodes(nodes).time(days);
            var plan = sweep.plan();
            trashed += plan.trash(plan.approvals("soak")).trashed();
            sweep.empty();
            cycles++;
            Whys whys = new Whys(holdfast).nodes(nodes);
            for (PieceId piece : live) {
                lost += whys.ask("piece:n1/" + piece) instanceof Why.Alive ? 0 : 1;
            }
        }

        private void sample(long second) {
            System.gc();
            Runtime java = Runtime.getRuntime();
            heap.add((java.totalMemory() - java.freeMemory()) / 1e6);
            redisMemory.add(Double.parseDouble(redis.info("memory").get("used_memory")) / 1e6);
            if (second % 60 == 59 || run.quick()) {
                run.note(String.format(
                        Locale.ROOT,
                        "%d s: Redis %.1f MB, heap %.1f MB, %d kills, %d cycles, %d pieces trashed",
                        second + 1,
                        redisMemory.getLast(),
                        heap.getLast(),
                        kills,
                        cycles,
                        trashed));
            }
        }

        private void end(ChildJvm worker) {
            worker.send("end");
            worker.awaitLine(line -> line.startsWith("done "));
        }

        /** Until nobody serves anything and everything that nobody holds is reclaimed. */
        private void settle(Sessions closer) throws InterruptedException {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (System.nanoTime() - deadline < 0) {
                var stats = closer.view().stats();
                boolean calm = stats.live() + stats.grace() + stats.closing() == 0
                        && holdfast.graph("docs").inspect().statistics().doomed() == 0;
                if (calm) {
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(100);
            }
        }

        private void rows(Sessions closer, Aggregates<Long> visits) {
            SystemVerify verify = new SystemVerify(redis.uri().toString(), (phase, done, total) -> {})
                    .everythingOnRedis()
                    .cache(slab.file());
            nodes.forEach(verify::node);
            long findings = 0;
            for (SystemVerify.Part part : verify.parts()) {
                part.findings().forEach(finding -> run.note(part.part() + ": " + finding));
                findings += part.findings().size() + (part.failure().isEmpty() ? 0 : 1);
            }
            long owned = holdfast.graph("docs").roots().keySet().stream()
                    .filter(root -> root.startsWith("session:"))
                    .count();
            long open = closer.view().stats().live();
            run.row(count("findings of verify", Direction.LOWER, findings).goal(0));
            run.row(count("live pieces lost", Direction.LOWER, lost).goal(0));
            run.row(count("sessions left open", Direction.LOWER, open).goal(0));
            run.row(count("snapshots left by sessions", Direction.LOWER, owned).goal(0));
            run.row(count(
                            "aggregates that could not be flushed",
                            Direction.LOWER,
                            visits.figures().deadLetters())
                    .goal(0));
            run.row(count("aggregates flushed", Direction.HIGHER, flushed.get()));
            run.row(growth("Redis memory, last third / first", redisMemory));
            run.row(growth("heap, last third / first", heap));
            run.row(count("processes killed", Direction.HIGHER, kills));
            run.row(count("cycles", Direction.HIGHER, cycles));
            run.row(count("pieces trashed", Direction.HIGHER, trashed));
            run.row(count(
                    "sessions closed", Direction.HIGHER, closer.view().stats().closed()));
        }

        private static Row count(String name, Direction direction, long count) {
            return Row.reported(name, "count", direction, (double) count);
        }

        /** In seconds everything still warms up: a quick run only reports it. */
        private Row growth(String name, List<Double> samples) {
            int third = Math.max(1, samples.size() / 3);
            double first = median(samples.subList(0, third));
            double last = median(samples.subList(samples.size() - third, samples.size()));
            Row row = Row.reported(name, "ratio", Direction.LOWER, last / first);
            return run.quick() ? row : row.goal(1.25);
        }

        private static double median(List<Double> samples) {
            return Contest.median(
                    samples.stream().mapToDouble(Double::doubleValue).toArray());
        }
    }
}
