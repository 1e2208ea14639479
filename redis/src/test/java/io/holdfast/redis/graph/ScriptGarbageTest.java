package io.holdfast.redis.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.graph.GraphScripts.Collected;
import io.holdfast.redis.graph.GraphScripts.Stepped;
import org.junit.jupiter.api.Test;

class ScriptGarbageTest {

    private final ScriptGarbage garbage = new ScriptGarbage();

    @Test
    void letsSomeGather() {
        step(300);
        step(900);
        assertThat(garbage.isDue()).isFalse();
        step(901);
        assertThat(garbage.isDue()).isTrue();
    }

    @Test
    void isDueUntilAllIsCollected() {
        step(300);
        step(1_000);
        garbage.after(new Collected(400, false));
        assertThat(garbage.isDue()).isTrue();
        garbage.after(new Collected(350, true));
        assertThat(garbage.isDue()).isFalse();
    }

    @Test
    void whereMuchIsInUseMoreMayGather() {
        step(1_000);
        garbage.after(new Collected(20_000, true)); // others have come, and have large scripts
        step(39_000);
        assertThat(garbage.isDue()).isFalse();
        step(41_000);
        assertThat(garbage.isDue()).isTrue();
    }

    @Test
    void whatWasThoughtInUseMayHaveBeenGarbage() {
        step(5_000);
        step(400);
        step(1_001);
        assertThat(garbage.isDue()).isTrue();
    }

    private void step(long scriptKib) {
        garbage.after(new Stepped(false, 0, 0, 0, -1, "", "", new byte[0], -1, scriptKib));
    }
}
