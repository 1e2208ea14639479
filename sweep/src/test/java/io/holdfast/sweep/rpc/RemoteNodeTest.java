package io.holdfast.sweep.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RemoteNodeTest {

    /** 8 GiB at 2 MiB a second take more than an hour: within a fixed ten minutes such a filter was always refused. */
    @Test
    void largeFilterHasTheTimeToArrive() {
        assertThat(RemoteNode.seconds(8L << 30)).isGreaterThan((8L << 30) / (2L << 20));
        assertThat(RemoteNode.seconds(1)).as("checking takes its time too").isGreaterThanOrEqualTo(600);
    }
}
