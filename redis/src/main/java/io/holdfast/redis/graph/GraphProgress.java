package io.holdfast.redis.graph;

/** Told how far a long look at a graph is. */
@FunctionalInterface
public interface GraphProgress {

    GraphProgress NONE = (phase, done, total) -> {};

    /**
     * @param phase what is being done, for people
     * @param done how much of this phase is done
     * @param total how much there is to do, about; not less than {@code done}
     */
    void at(String phase, long done, long total);
}
