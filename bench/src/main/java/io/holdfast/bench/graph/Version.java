package io.holdfast.bench.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** What a client that copies paths knows of a tree: ids and children. {@code I} is how the layout names a value. */
record Version<I>(I id, List<Version<I>> children) {

    /** How a layout puts a value that takes the place of another one. */
    interface Putting<I> {
        I put(byte[] value, List<I> children, Version<I> before);
    }

    static <I> Version<I> of(Tree tree, List<I> ids) {
        List<Version<I>> all = new ArrayList<>();
        for (int i = 0; i < tree.size(); i++) {
            List<Version<I>> children = new ArrayList<>();
            for (int child : tree.children().get(i)) {
                children.add(all.get(child));
            }
            all.add(new Version<>(ids.get(i), children));
        }
        return all.getLast();
    }

    /**
     * The next version: new values on one path from the top to a parent of leaves, which keeps all of its leaves but
     * one. With a fan-out of 10 and five values on the path that is 45 children that exist already.
     */
    Version<I> copyPath(RandomGenerator random, Putting<I> putting) {
        List<Version<I>> next = new ArrayList<>(children);
        int at = random.nextInt(next.size());
        if (children.getFirst().children().isEmpty()) {
            if (next.size() == 10) {
                next.remove(at);
            }
        } else {
            next.set(at, next.get(at).copyPath(random, putting));
        }
        byte[] value = new byte[100];
        random.nextBytes(value);
        return new Version<>(putting.put(value, next.stream().map(Version::id).toList(), this), next);
    }
}
