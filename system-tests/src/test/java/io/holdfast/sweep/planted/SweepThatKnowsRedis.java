package io.holdfast.sweep.planted;

import io.holdfast.redis.Holdfast;

/** Breaks the architecture on purpose, for the test that the architecture test can fail. */
public final class SweepThatKnowsRedis {

    public String where(Holdfast holdfast) {
        return holdfast.where();
    }
}
