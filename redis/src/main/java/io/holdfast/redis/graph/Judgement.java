package io.holdfast.redis.graph;

import io.holdfast.redis.graph.Census.Large;
import io.holdfast.redis.graph.Finding.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Compares what a census counted with what is stored, and says what is wrong and how it could be mended. */
final class Judgement {

    private static final byte[] NOTHING = {};

    /** A finding, and the fix if there is one. */
    record Judged(Finding finding, @Nullable Fix fix) {}

    private final List<Judged> judged = new ArrayList<>();
    private final Map<Kind, Long> counts = new EnumMap<>(Kind.class);

    private Judgement() {}

    /** Of a verify without a verdict. */
    static Judgement none() {
        return new Judgement();
    }

    static Judgement of(Census census) {
        Judgement judgement = new Judgement();
        for (int id = 0; id < census.ids.size(); id++) {
            if (!census.flags.has(id, Census.CHANGED)) {
                judgement.judge(census, id);
            }
        }
        judgement.judgeLines(census);
        judgement.judgeNames(census);
        judgement.judgeLeases(census);
        census.unreadable.forEach(
                what -> judgement.add(Kind.UNREADABLE, what, "not in the form of this version", null));
        return judgement;
    }

    List<Judged> judged() {
        return judged;
    }

    VerifyReport report(Census census, String voided, Duration took) {
        long unjudged = census.changedLeases.size();
        for (int id = 0; id < census.ids.size(); id++) {
            unjudged += census.flags.has(id, Census.CHANGED) ? 1 : 0;
        }
        return new VerifyReport(
                census.values,
                census.edges,
                unjudged,
                voided,
                Map.copyOf(counts),
                judged.stream().map(Judged::finding).toList(),
                took,
                census.bytesPerId());
    }

    private void judge(Census census, int id) {
        if (census.flags.has(id, Census.UNREADABLE)) {
            add(census, Kind.UNREADABLE, id, "its entry in counts or edges cannot be read", null);
            return;
        }
        Large large = census.flags.has(id, Census.LARGE) ? census.large.get(id) : null;
        if (!census.isPresent(id)) {
            judgeAbsent(census, id, large);
            return;
        }
        if (large != null && large.state != null) {
            judgeChunks(census, id, large);
            judgeHolds(census, id, large.head, "|" + large.valueChunks + "," + large.edgeChunks);
        } else {
            judgeHolds(census, id, Integer.toString(census.storedHolds(id)), "");
        }
        if (!census.flags.has(id, Census.REACHED)) {
            add(census, Kind.CYCLE, id, "only values that it holds itself, directly or through others, hold it", null);
        }
    }

    private void judgeHolds(Census census, int id, String head, String shape) {
        int holds = census.holds.get(id);
        byte[] bytes = census.ids.bytes(id);
        byte[] expected = expected(census, id);
        if (head.equals("b")) {
            if (holds == 0) {
                String detail = "it is being built, and no lease holds it";
                add(census, Kind.LEAK, id, detail, Fix.doom(bytes, expected, "d" + shape));
            }
            return;
        }
        if (head.equals("d")) {
            if (holds > 0) {
                add(census, Kind.UNDERCOUNT, id, "it is draining, and " + holds + " hold it", null);
            } else if (!census.flags.has(id, Census.LISTED)) {
                add(census, Kind.UNLISTED, id, "it is draining", Fix.doom(bytes, expected, "d" + shape));
            }
            return;
        }
        int stored = census.storedHolds(id);
        String detail = "its count is " + stored + ", its holds are " + holds;
        if (stored < holds) {
            add(census, Kind.UNDERCOUNT, id, detail, Fix.count(bytes, expected, holds + shape));
        } else if (stored == holds && census.flags.has(id, Census.PARENT) && !census.flags.has(id, Census.COUNTED)) {
            String why = "it has children, and no count says that it is held";
            add(census, Kind.UNCOUNTED, id, why, Fix.count(bytes, expected, holds + shape));
        } else if (stored > holds && holds > 0) {
            add(census, Kind.OVERCOUNT, id, detail, Fix.count(bytes, expected, holds + shape));
        } else if (stored > holds) {
            add(census, Kind.LEAK, id, detail, Fix.doom(bytes, expected, "0" + shape));
        } else if (stored == 0 && !census.flags.has(id, Census.LISTED)) {
            add(census, Kind.UNLISTED, id, "it is doomed", Fix.doom(bytes, expected, "0" + shape));
        }
    }

    /** The value is not there. What is left of it goes, unless something holds it: then that is the finding. */
    private void judgeAbsent(Census census, int id, @Nullable Large large) {
        boolean held = census.holds.get(id) > 0;
        byte[] bytes = census.ids.bytes(id);
        byte[] expected = expected(census, id);
        String rest = held ? "; something holds the value, so nothing is removed" : "";
        if (census.flags.has(id, Census.COUNTED)) {
            String detail = "a count of " + census.stored.get(id) + " without a value" + rest;
            add(census, Kind.ORPHAN_COUNT, id, detail, held ? null : Fix.uncount(bytes, expected));
        }
        if (census.flags.has(id, Census.PARENT)) {
            String detail = "children without a value" + rest;
            add(census, Kind.ORPHAN_EDGES, id, detail, held ? null : Fix.unedge(bytes, bytes, expected));
        }
        if (large != null) {
            ValueId value = ValueId.of(bytes);
            large.edges.stream().forEach(chunk -> {
                Fix fix = held ? null : Fix.unedge(bytes, ValueReader.chunkField(value, chunk), expected);
                add(census, Kind.ORPHAN_EDGES, id, "children (chunk " + chunk + ") without a value" + rest, fix);
            });
            large.values.stream().forEach(chunk -> {
                Fix fix = held ? null : Fix.unchunk(bytes, ValueReader.chunkField(value, chunk), expected);
                add(census, Kind.ORPHAN_CHUNK, id, "chunk " + chunk + " without a value" + rest, fix);
            });
        }
    }

    private void judgeChunks(Census census, int id, Large large) {
        for (int chunk = 0; chunk < large.valueChunks; chunk++) {
            if (!large.values.get(chunk)) {
                add(census, Kind.MISSING_CHUNK, id, "bytes, chunk " + chunk + " of " + large.valueChunks, null);
            }
        }
        for (int chunk = 0; chunk < large.edgeChunks; chunk++) {
            if (!large.edges.get(chunk)) {
                add(census, Kind.MISSING_CHUNK, id, "children, chunk " + chunk + " of " + large.edgeChunks, null);
            }
        }
        if (large.values.length() > large.valueChunks || large.edges.length() > large.edgeChunks) {
            add(census, Kind.ORPHAN_CHUNK, id, "it has more chunks than its count says", null);
        }
    }

    private void judgeNames(Census census) {
        for (Census.Dangling edge : census.dangling) {
            if (isQuiet(census, edge.parent()) && isQuiet(census, edge.child()) && !census.isPresent(edge.child())) {
                String detail = "its child " + census.ids.id(edge.child()) + " is not there";
                add(census, Kind.DANGLING_EDGE, edge.parent(), detail, null);
            }
        }
        census.roots.forEach((name, id) -> {
            if (isQuiet(census, id) && !census.isPresent(id)) {
                add(Kind.EMPTY_ROOT, "root " + name, "value " + census.ids.id(id) + " is not there", null);
            }
        });
        for (Census.LeaseHold hold : census.emptyHolds) {
            int id = hold.id();
            if (isQuiet(census, id) && !census.isPresent(id) && !census.changedLeases.contains(hold.lease())) {
                byte[] lease = Verifier.leaseBytes(hold.lease());
                Fix fix = Fix.unhold(census.ids.bytes(id), expected(census, id), lease);
                add(census, Kind.EMPTY_HOLD, id, "it is not there, and lease " + text(hold.lease()) + " holds it", fix);
            }
        }
    }

    private void judgeLines(Census census) {
        for (Census.BrokenLine broken : census.brokenLines) {
            int id = broken.id();
            if (isQuiet(census, id)) {
                Fix fix = Fix.part(
                        census.ids.bytes(id),
                        expected(census, id),
                        broken.kept().write(census.width));
                add(census, Kind.BROKEN_LINE, id, "a neighbour in its line does not know it", fix);
            }
        }
    }

    private void judgeLeases(Census census) {
        census.unknownLeases.forEach((lease, hold) -> {
            boolean known = census.listedLeases.contains(lease) || census.changedLeases.contains(lease);
            if (!known && isQuiet(census, hold.id())) {
                String detail = "it holds value " + census.ids.id(hold.id()) + ", and perhaps others";
                add(Kind.UNKNOWN_LEASE, "lease " + text(lease), detail, Fix.unlease(Verifier.leaseBytes(lease)));
            }
        });
        for (long lease : census.leases) {
            if (!census.leasesWithDeadline.contains(lease) && !census.changedLeases.contains(lease)) {
                Fix fix = Fix.deadline(Verifier.leaseBytes(lease));
                add(Kind.ENDLESS_LEASE, "lease " + text(lease), "it has no deadline", fix);
            }
        }
    }

    private static boolean isQuiet(Census census, int id) {
        return !census.flags.has(id, Census.CHANGED);
    }

    /** The entry in counts as it was seen. */
    private static byte[] expected(Census census, int id) {
        if (!census.flags.has(id, Census.COUNTED)) {
            return NOTHING;
        }
        Large large = census.flags.has(id, Census.LARGE) ? census.large.get(id) : null;
        return large != null && large.state != null ? large.state : GraphScripts.number(census.stored.get(id));
    }

    private void add(Census census, Kind kind, int id, String detail, @Nullable Fix fix) {
        add(kind, "value " + census.ids.id(id), detail, fix);
    }

    private void add(Kind kind, String thing, String detail, @Nullable Fix fix) {
        counts.merge(kind, 1L, Long::sum);
        if (judged.size() < Census.MOST_KEPT) {
            judged.add(new Judged(new Finding(kind, thing, detail, fix != null), fix));
        }
    }

    private static String text(long lease) {
        return HexFormat.of().toHexDigits(lease);
    }
}
