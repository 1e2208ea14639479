package io.holdfast.bench.graph;

/** A way to keep values in Redis. One object serves one measurement on an empty server. */
interface Layout extends AutoCloseable {

    /** Puts the tree; a layout that counts also names its top. */
    void build(Tree tree);

    @Override
    void close();

    /** A layout that knows what is still held. */
    interface Counting extends Layout {

        /** Puts versions one after the other, so many before it waits for an answer; all of them stay. */
        void nextVersions(int versions, int together);

        /** The same, all of them next versions of the one tree. */
        void copyPaths(int copies, int together);

        /** Puts versions one after the other; each takes the place of the one before, which is reclaimed. */
        void movePaths(int copies);

        /** Drops the top and returns when everything is gone. */
        void drop();
    }
}
