package io.holdfast.sweep.cycle;

import io.holdfast.sweep.piece.NodeId;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * How much of all pieces one cycle may trash without an operator. What nodes would trash is compared with what is live by the
 * catalogue's own count, so no node can lift the limit for others.
 *
 * <p>A mistake that concerns the whole shows on most nodes and holds all of them. One node in a hundred, and at least one,
 * may be left out instead: it waits for an operator, and a broken or lying node does not hold back the rest.
 */
public final class FleetLimit {

    /** Below this, leaving one out would leave out too large a part. */
    private static final int NODES_LEAST = 3;

    private static final int LEFT_OUT_PERCENT = 1;

    /** What a node would trash beside what it holds that is live. */
    public record Share(NodeId node, long live, long garbage) {}

    /**
     * What may go on.
     *
     * @param held the nodes that wait for an operator
     * @param note one line about it; empty if all go on
     */
    public record Ruling(Set<NodeId> held, String note) {
        public Ruling {
            held = Set.copyOf(held);
        }
    }

    private FleetLimit() {}

    /** Rules over all or none. */
    public static Ruling whole(Collection<Share> shares, int percent) {
        return isWithin(shares, percent) ? new Ruling(Set.of(), "") : hold(shares, percent);
    }

    /** Rules, and leaves out a few nodes if the others are within the limit without them. */
    public static Ruling leavingOut(Collection<Share> shares, int percent) {
        if (isWithin(shares, percent)) {
            return new Ruling(Set.of(), "");
        }
        List<Share> rest = new ArrayList<>(shares);
        rest.sort(Comparator.comparingLong(Share::garbage));
        int most = shares.size() < NODES_LEAST ? 0 : Math.max(1, shares.size() * LEFT_OUT_PERCENT / 100);
        Set<NodeId> left = new TreeSet<>();
        while (left.size() < most) {
            left.add(rest.removeLast().node());
            if (isWithin(rest, percent)) {
                return new Ruling(
                        left, "held back, as it alone exceeds the fleet's limit of " + percent + " %: " + left);
            }
        }
        return hold(shares, percent);
    }

    private static Ruling hold(Collection<Share> shares, int percent) {
        Set<NodeId> all = new TreeSet<>();
        shares.forEach(share -> all.add(share.node()));
        BigInteger garbage = sum(shares.stream().map(Share::garbage).toList());
        BigInteger total = garbage.add(sum(shares.stream().map(Share::live).toList()));
        return new Ruling(
                all,
                "nothing was trashed: " + garbage + " of " + total + " pieces is more than the fleet's limit of "
                        + percent + " %");
    }

    private static boolean isWithin(Collection<Share> shares, int percent) {
        BigInteger garbage = sum(shares.stream().map(Share::garbage).toList());
        BigInteger all = garbage.add(sum(shares.stream().map(Share::live).toList()));
        return garbage.multiply(BigInteger.valueOf(100)).compareTo(all.multiply(BigInteger.valueOf(percent))) <= 0;
    }

    private static BigInteger sum(List<Long> numbers) {
        return numbers.stream().map(BigInteger::valueOf).reduce(BigInteger.ZERO, BigInteger::add);
    }
}
