package io.holdfast.slab;

/** Memory that can be stopped before every single store; bytes come in two halves. */
abstract class SteppedMemory extends HeapMemory {

    SteppedMemory(SlabLayout layout) {
        super(layout);
    }

    /** The next store has not happened yet. */
    abstract void beforeStore();

    long[] snapshot() {
        return words.clone();
    }

    void restore(long[] snapshot) {
        System.arraycopy(snapshot, 0, words, 0, words.length);
    }

    @Override
    void word(long at, long value) {
        beforeStore();
        super.word(at, value);
    }

    @Override
    void release(long at, long value) {
        beforeStore();
        super.release(at, value);
    }

    @Override
    boolean swap(long at, long expected, long value) {
        beforeStore();
        return super.swap(at, expected, value);
    }

    @Override
    long add(long at, long delta) {
        beforeStore();
        return super.add(at, delta);
    }

    @Override
    void opaque(long at, long value) {
        beforeStore();
        super.opaque(at, value);
    }

    @Override
    void write(long at, byte[] bytes, int from, int length) {
        if (length > 1) {
            beforeStore();
            super.write(at, bytes, from, length / 2);
            beforeStore();
            super.write(at + length / 2, bytes, from + length / 2, length - length / 2);
        } else {
            beforeStore();
            super.write(at, bytes, from, length);
        }
    }

    @Override
    void move(long from, long to, long length) {
        beforeStore();
        super.move(from, to, length);
    }

    @Override
    void zero(long at, long length) {
        beforeStore();
        super.zero(at, length);
    }
}
