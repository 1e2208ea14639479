package io.holdfast.slab;

/** Memory whose writer dies after so many stores: the next one and all after it never happen. */
final class MortalMemory extends SteppedMemory {

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

    @Override
    void beforeStore() {
        if (storesLeft-- <= 0) {
            storesLeft = 0;
            throw new Dead();
        }
    }
}
