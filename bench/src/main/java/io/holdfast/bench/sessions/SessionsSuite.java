package io.holdfast.bench.sessions;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HolderId;
import io.holdfast.ReclaimReason;
import io.holdfast.Settings;
import io.holdfast.ThingId;
import io.holdfast.Time;
import io.holdfast.bench.Contest;
import io.holdfast.bench.Measurement;
import io.holdfast.bench.Meter;
import io.holdfast.bench.Row;
import io.holdfast.bench.Row.Direction;
import io.holdfast.bench.Run;
import io.holdfast.bench.ServerCpu;
import io.holdfast.bench.Suite;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.HoldRules;
import io.holdfast.redis.hold.HoldSet;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.ScriptCaller;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisLink.Call;
import io.holdfast.redis.link.RedisLink.Outcome;
import io.holdfast.redis.link.Reply;
import io.holdfast.testkit.RedisServer;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/** What sessions cost the server, beside the decision record's three plain commands and its scan. */
public final class SessionsSuite implements Suite {

    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final int DUE = 1_000;
    private static final int PIPELINED = 100;

    @Override
    public String name() {
        return "sessions";
    }

    @Override
    public String description() {
        return "sessions: acquire, release, heartbeat, finding what is due, claims, memory, 4 instances, a crash";
    }

    @Override
    public void measure(Run run) throws Exception {
        pairs(run);
        finding(run);
        heartbeat(run);
        claims(run);
        memory(run);
        FourInstances.measure(run);
        DeadInstance.measure(run);
    }

    /** Server CPU of an acquire and a release, one pair a call and fifty a call, all pipelined. */
    private static void pairs(Run run) throws Exception {
        run.note("acquire + release");
        int count = run.size(20_000, 5_000);
        try (RedisServer server = RedisServer.start();
                RedisLink link = link(server);
                Jedis jedis = server.client();
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            Recorder recorder = new Recorder(link);
            Holds holds = holds(recorder, "pairs", 1, Duration.ofSeconds(30));
            holds.start();
            Templates templates = new Templates(recorder, holds);
            OriginalSessions original = new OriginalSessions(jedis);
            List<String> again = ids("s", count);
            int[] round = new int[1];
            Contest.Results results = new Contest()
                    .add("original new", () -> {
                        List<String> ids = ids("n" + ++round[0] + "-", count);
                        return meter.measure(count, () -> original.acquireAndRelease(ids));
                    })
                    .add("single new", () -> {
                        List<String> ids = ids("n" + ++round[0] + "-", count);
                        return meter.measure(count, () -> templates.send(link, ids, 1));
                    })
                    .add("batched new", () -> {
                        List<String> ids = ids("n" + ++round[0] + "-", count);
                        return meter.measure(count, () -> templates.send(link, ids, 50));
                    })
                    .add("original again", () -> meter.measure(count, () -> original.acquireAndRelease(again)))
                    .add("single again", () -> meter.measure(count, () -> templates.send(link, again, 1)))
                    .add("batched again", () -> meter.measure(count, () -> templates.send(link, again, 50)))
                    .run(run.size(7, 3));
            for (String which : List.of("new", "again")) {
                String sessions = which.equals("new") ? "new sessions" : "sessions in their grace";
                pair(run, results, "one pair at a time, " + sessions, "single " + which, "original " + which, 7.5);
                pair(run, results, "batched by 50, " + sessions, "batched " + which, "original " + which, 2.5);
            }
        }
    }

    private static void pair(
            Run run, Contest.Results results, String what, String holdfast, String original, double goal) {
        run.row(Row.compared(
                        "acquire + release, " + what + ", server CPU",
                        "us/pair",
                        Direction.LOWER,
                        results.median(holdfast, Measurement::serverMicros),
                        results.median(original, Measurement::serverMicros),
                        "INCR, DECR, HSET")
                .goal(goal));
    }

    /** Finding 1,000 due sessions among many that are not. */
    private static void finding(Run run) throws Exception {
        double smallest = 0;
        for (int others : new int[] {10_000, 100_000, run.size(1_000_000, 150_000)}) {
            run.note("finding 1,000 due among " + others);
            try (RedisServer server = RedisServer.start();
                    RedisLink link = link(server);
                    Jedis jedis = server.client()) {
                Holds waiting = holds(ScriptCaller.by(link), "find", 1, Duration.ofHours(1));
                Holds due = holds(ScriptCaller.by(link), "find", 1, Duration.ZERO);
                waiting.start();
                due.start();
                fill(waiting, ids("waiting", others));
                fill(due, ids("due", DUE));
                double holdfast = millis(run.size(41, 21), () -> {
                    int found = link.command(
                                    Command.ZRANGEBYSCORE,
                                    waiting.set().keyspace(0).key("due"),
                                    text("0"),
                                    text(Long.toString(System.currentTimeMillis() + 60_000)),
                                    text("LIMIT"),
                                    text("0"),
                                    text(Integer.toString(DUE)))
                            .size();
                    require(found == DUE, "found " + found);
                });
                String name = "find 1,000 due among " + others + " sessions";
                if (others == 100_000) {
                    OriginalSessions original = new OriginalSessions(jedis);
                    original.fill(ids("waiting", others), Long.MAX_VALUE);
                    original.fill(ids("due", DUE), 0);
                    double scan = millis(run.size(3, 1), () -> {
                        int found = original.findDue(1);
                        require(found == DUE, "found " + found);
                    });
                    run.row(Row.compared(
                                    name + ", times faster",
                                    "1/ms",
                                    Direction.HIGHER,
                                    1 / holdfast,
                                    1 / scan,
                                    "SCAN + HGET")
                            .goal(1_000));
                }
                if (smallest == 0) {
                    smallest = holdfast;
                }
                run.row(Row.compared(name, "ms", Direction.LOWER, holdfast, smallest, "among 10,000"));
                if (others == 100_000) {
                    run.row(Row.reported("find and claim them", "ms", Direction.LOWER, claiming(due, run.size(21, 5))));
                }
            }
        }
    }

    private static void heartbeat(Run run) throws Exception {
        run.note("heartbeat");
        int many = 100_000;
        try (RedisServer server = RedisServer.start();
                RedisLink link = link(server);
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Meter meter = Meter.with(cpu);
            Holds few = holds(ScriptCaller.by(link), "few", 1, Duration.ofSeconds(30));
            Holds lots = holds(ScriptCaller.by(link), "many", 1, Duration.ofSeconds(30));
            few.start();
            lots.start();
            few.acquire("one");
            for (List<String> batch : batches(ids("s", many), 100)) {
                lots.acquireAll(0, batch);
            }
            int beats = run.size(5_000, 1_000);
            Contest.Results results = new Contest()
                    .add("few", () -> meter.measure(beats, () -> beat(few, beats)))
                    .add("many", () -> meter.measure(beats, () -> beat(lots, beats)))
                    .run(run.size(9, 5));
            run.row(Row.compared(
                            "heartbeat with 100,000 sessions held, server CPU",
                            "us",
                            Direction.LOWER,
                            results.median("many", Measurement::serverMicros),
                            results.median("few", Measurement::serverMicros),
                            "with 1 session")
                    .goal(1.25));
        }
    }

    private static void beat(Holds holds, int beats) {
        for (int i = 0; i < beats; i++) {
            holds.heartbeat();
        }
    }

    private static void claims(Run run) throws Exception {
        run.note("claims");
        int count = run.size(100_000, 20_000);
        try (RedisServer server = RedisServer.start();
                RedisLink link = link(server);
                ServerCpu cpu = new ServerCpu(server.uri())) {
            Holds first = holds(ScriptCaller.by(link), "claims", 4, Duration.ZERO);
            first.start();
            for (int shard = 0; shard < 4; shard++) {
                int here = shard;
                List<String> ids = ids("s", count).stream()
                        .filter(id -> first.set().shardOf(id) == here)
                        .toList();
                for (List<String> batch : batches(ids, 100)) {
                    first.acquireAll(shard, batch);
                    first.releaseAll(shard, batch);
                }
            }
            believe(first);
            Set<String> claimed = ConcurrentHashMap.newKeySet();
            long total = 0;
            long used = cpu.nanos();
            long begin = System.nanoTime();
            try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
                List<Future<Long>> claimers = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    claimers.add(threads.submit(() -> claimAll(link, claimed, count)));
                }
                for (Future<Long> claimer : claimers) {
                    total += claimer.get();
                }
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            double micros = (cpu.nanos() - used) / 1e3 / count;
            require(total == count && claimed.size() == count, total + " claims of " + claimed.size() + " sessions");
            run.row(Row.reported("claims by 4 claimers, all distinct", "1/s", Direction.HIGHER, count / seconds)
                    .goal(30_000));
            run.row(Row.reported("claims by 4 claimers, server CPU", "us/claim", Direction.LOWER, micros));
        }
    }

    /** Claims until everything is claimed: a claimer that finds nothing looks again, since quiet time may have begun. */
    private static long claimAll(RedisLink link, Set<String> claimed, int wanted) {
        Holds claimer = holds(ScriptCaller.by(link), "claims", 4, Duration.ZERO);
        long count = 0;
        long begin = System.nanoTime();
        while (claimed.size() < wanted) {
            List<Claim> claims = claimer.claim(100).claims();
            if (claims.isEmpty()) {
                require(System.nanoTime() - begin < PATIENCE.toNanos(), claimed.size() + " claims of " + wanted);
                LockSupport.parkNanos(1_000_000);
            }
            count += claims.size();
            claims.forEach(claim -> claimed.add(claim.id() + "/" + claim.epoch()));
        }
        return count;
    }

    private static void memory(Run run) throws Exception {
        run.note("memory");
        int count = 100_000;
        try (RedisServer server = RedisServer.start();
                RedisLink link = link(server);
                Jedis jedis = server.client()) {
            long empty = usedMemory(server);
            new OriginalSessions(jedis).fill(ids("session-", count), System.currentTimeMillis());
            double original = (usedMemory(server) - empty) / (double) count;
            server.flush();
            long before = usedMemory(server);
            for (String instance : List.of("web-1", "web-2")) {
                Holds holds = new Holds(
                        ScriptCaller.by(link),
                        set("memory", 1),
                        rules(Duration.ofSeconds(30)),
                        HolderId.newIncarnation(instance),
                        Time.system(),
                        new SecureRandom(),
                        ReclaimReason.CLOSED);
                holds.start();
                for (List<String> batch : batches(ids("session-", count), 100)) {
                    holds.acquireAll(0, batch);
                }
            }
            double ours = (usedMemory(server) - before) / (double) count;
            run.row(Row.compared(
                    "memory per session with two holders",
                    "bytes",
                    Direction.LOWER,
                    ours,
                    original,
                    "a count and a hash, no holders"));
        }
    }

    // ---- tools

    private static RedisLink link(RedisServer server) {
        return RedisLink.connect(Settings.none()
                .set(LinkSettings.URI, server.uri().toString())
                .set(LinkSettings.TIMEOUT, Duration.ofSeconds(30)));
    }

    private static HoldSet set(String name, int shards) {
        return new HoldSet(ThingId.Kind.SESSION, name, shards, HoldSet.Mode.HOLDERS);
    }

    private static HoldRules rules(Duration grace) {
        return new HoldRules(LEASE, grace, Duration.ofMinutes(5), 5, false, 10_000, List.of());
    }

    private static Holds holds(ScriptCaller caller, String name, int shards, Duration grace) {
        return new Holds(
                caller,
                set(name, shards),
                rules(grace),
                HolderId.newIncarnation("bench"),
                Time.system(),
                new SecureRandom(),
                ReclaimReason.CLOSED);
    }

    private static void fill(Holds holds, List<String> ids) {
        for (List<String> batch : batches(ids, 100)) {
            holds.acquireAll(0, batch);
            holds.releaseAll(0, batch);
        }
    }

    /** In milliseconds, the median of so many rounds; in each another 1,000 are due, and the first round does not count. */
    private static double claiming(Holds due, int rounds) {
        believe(due);
        double[] figures = new double[rounds];
        for (int i = 0; i <= rounds; i++) {
            long begin = System.nanoTime();
            int claimed = due.claim(DUE).claims().size();
            if (i > 0) {
                figures[i - 1] = (System.nanoTime() - begin) / 1e6;
            }
            require(claimed == DUE, "claimed " + claimed);
            fill(due, ids("due" + i + "-", DUE));
        }
        return Contest.median(figures);
    }

    /** Gives the set the signs of life without which it does not believe its deadlines. */
    private static void believe(Holds holds) {
        long until = System.nanoTime() + LEASE.toNanos() * 3 / 2;
        while (System.nanoTime() - until < 0) {
            holds.heartbeat();
            LockSupport.parkNanos(LEASE.toNanos() / 20);
        }
    }

    private static List<String> ids(String prefix, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> prefix + (100_000_000 + i))
                .toList();
    }

    private static <T> List<List<T>> batches(List<T> all, int size) {
        List<List<T>> batches = new ArrayList<>();
        for (int from = 0; from < all.size(); from += size) {
            batches.add(all.subList(from, Math.min(all.size(), from + size)));
        }
        return batches;
    }

    /** The median; the first fifth of the rounds warms up and is not counted. */
    private static double millis(int rounds, Meter.Work work) throws Exception {
        for (int i = 0; i < rounds / 5; i++) {
            work.run();
        }
        double[] figures = new double[rounds];
        for (int i = 0; i < rounds; i++) {
            long begin = System.nanoTime();
            work.run();
            figures[i] = (System.nanoTime() - begin) / 1e6;
        }
        return Contest.median(figures);
    }

    private static long usedMemory(RedisServer server) {
        return Long.parseLong(server.info("memory").getOrDefault("used_memory", "0"));
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static byte[] text(String text) {
        return text.getBytes(UTF_8);
    }

    /** Remembers the last call, as a pattern for many more. */
    private static final class Recorder implements ScriptCaller {
        private final RedisLink link;
        private @Nullable Call last;

        Recorder(RedisLink link) {
            this.link = link;
        }

        @Override
        public Reply call(Call call) {
            last = call;
            return link.call(call);
        }

        @Override
        public List<Outcome> callAll(List<Call> calls) {
            return link.callAll(calls);
        }

        Call last() {
            if (last == null) {
                throw new IllegalStateException("nothing was called");
            }
            return last;
        }
    }

    /** The product's own calls with other things and sequence numbers, to be sent many at a time. */
    private static final class Templates {
        private final Call acquire;
        private final Call release;
        private long sequence = 1_000;

        Templates(Recorder recorder, Holds holds) {
            holds.acquire("pattern");
            acquire = recorder.last();
            holds.release("pattern");
            release = recorder.last();
        }

        void send(RedisLink link, List<String> ids, int perCall) {
            List<Call> calls = new ArrayList<>();
            for (List<String> batch : batches(ids, perCall)) {
                calls.add(with(acquire, batch));
                calls.add(with(release, batch));
                if (calls.size() * perCall >= PIPELINED * 2) {
                    flush(link, calls);
                }
            }
            flush(link, calls);
        }

        private static void flush(RedisLink link, List<Call> calls) {
            for (Outcome outcome : calls.isEmpty() ? List.<Outcome>of() : link.callAll(calls)) {
                require(outcome.get().text().startsWith("OK"), outcome.get().text());
            }
            calls.clear();
        }

        private Call with(Call pattern, List<String> ids) {
            List<byte[]> arguments = new ArrayList<>(
                    pattern.arguments().subList(0, pattern.arguments().size() - 1));
            arguments.set(0, text(String.format("%016d", ++sequence)));
            ids.forEach(id -> arguments.add(text("=" + id)));
            return new Call(pattern.script(), pattern.keys(), arguments);
        }
    }
}
