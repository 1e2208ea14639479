package io.holdfast.bench.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A full tree in the order of putting: children before their parents, the top last.
 *
 * @param children for each value the places of its children in the list
 */
record Tree(List<byte[]> values, List<int[]> children) {

    static Tree of(int levels, int fanOut, int bytes) {
        Tree tree = new Tree(new ArrayList<>(), new ArrayList<>());
        tree.grow(new SplittableRandom(levels), levels, fanOut, bytes);
        return tree;
    }

    private int grow(SplittableRandom random, int levels, int fanOut, int bytes) {
        int[] below = new int[levels == 1 ? 0 : fanOut];
        for (int i = 0; i < below.length; i++) {
            below[i] = grow(random, levels - 1, fanOut, bytes);
        }
        byte[] value = new byte[bytes];
        random.nextBytes(value);
        values.add(value);
        children.add(below);
        return values.size() - 1;
    }

    int size() {
        return values.size();
    }
}
