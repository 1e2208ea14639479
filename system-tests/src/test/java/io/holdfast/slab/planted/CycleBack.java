package io.holdfast.slab.planted;

import io.holdfast.sweep.planted.CycleThere;
import org.jspecify.annotations.Nullable;

/** The other half of a planted cycle. */
public final class CycleBack {
    public @Nullable CycleThere there;
}
