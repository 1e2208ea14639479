package io.holdfast.sweep.planted;

import io.holdfast.slab.planted.CycleBack;
import org.jspecify.annotations.Nullable;

/** One half of a planted cycle. */
public final class CycleThere {
    public @Nullable CycleBack back;
}
