package io.holdfast.bench.sweep;

import io.holdfast.bench.Run;
import io.holdfast.bench.Suite;

/** Filter, fleet, storage node, and a whole cycle in one process. */
public final class SweepSuite implements Suite {

    @Override
    public String name() {
        return "sweep";
    }

    @Override
    public String description() {
        return "live filter beside Guava's, fleet over loopback, storage node, cycle in one process";
    }

    @Override
    public void measure(Run run) throws Exception {
        new FilterInserts(run).measure();
        new ManyFilters(run).measure();
        new FleetCycles(run).measure();
        new NodeCycles(run).measure();
    }
}
