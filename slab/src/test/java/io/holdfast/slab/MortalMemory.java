package io.holdfast.slab;

/** Memory whose writer dies after so many stores: the next one and all after it never happen. */
final class MortalMemory extends HeapMemory {

    /** What a store of the dead ends with; nothing between it and the test may swallow it for good. */
    static final class Dead extends Error {
        private static final long serialVersionUID = 1;

        Dead() {
            super("dead", null, false, false);
        }
    }

    private long storesLeft = Long.MAX_VALUE;

    MortalMemory(SlabLayout layout) {
        super(layout);
    }

    void dieAfter(long stores) {
        storesLeft = stores;
    }

    void revive() {
        storesLeft = Long.MAX_VALUE;
    }

    long[] snapshot() {
        return words.clone();
    }

    void restore(long[] snapshot) {
        System.arraycopy(snapshot, 0, words, 0, words.length);
    }

    private void store() {
        if (storesLeft-- <= 0) {
            storesLeft = 0;
            throw new Dead();
        }
    }

    @Override
    void word(long at, long value) {
        store();
        super.word(at, value);
    }

    @Override
    void release(long at, long value) {
        store();
        super.release(at, value);
    }

    @Override
    boolean swap(long at, long expected, long value) {
        store();
        return super.swap(at, expected, value);
    }

    @Override
    long add(long at, long delta) {
        store();
        return super.add(at, delta);
    }

    @Override
    void opaque(long at, long value) {
        store();
        super.opaque(at, value);
    }

    @Override
    void write(long at, byte[] bytes, int from, int length) {
        if (length > 1) {
            // Dies in the middle, too.
            store();
            super.write(at, bytes, from, length / 2);
            store();
            super.write(at + length / 2, bytes, from + length / 2, length - length / 2);
        } else {
            store();
            super.write(at, bytes, from, length);
        }
    }

    @Override
    void move(long from, long to, long length) {
        store();
        super.move(from, to, length);
    }

    @Override
    void zero(long at, long length) {
        store();
        super.zero(at, length);
    }
}
