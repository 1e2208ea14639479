package io.holdfast.redis.hold;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.link.RedisLink.Call;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Every call of a simulated run in order, so that two runs can be compared and a violation shows what led to it. */
public final class CallLog {

    private static final int SHOWN = 100;
    private static final int WIDTH = 160;

    private final List<String> lines = new ArrayList<>();

    /** Notes a call, who made it and what became of it. */
    public void add(String by, Call call, String fate, @Nullable Object reply) {
        StringBuilder line =
                new StringBuilder(by).append(' ').append(call.script().name());
        call.arguments().forEach(argument -> line.append(' ').append(new String(argument, ISO_8859_1)));
        line.append(" -> ").append(fate).append(' ').append(reply);
        lines.add(line.toString().replaceAll("[^ -~]", "?"));
    }

    /** Notes what else happened. */
    public void add(String event) {
        lines.add(event);
    }

    /** Fails with the first call that differs. */
    public void isSameAs(CallLog other) {
        assertThat(lines).isNotEmpty();
        for (int i = 0; i < Math.min(lines.size(), other.lines.size()); i++) {
            assertThat(lines.get(i)).as("call %d of %d", i, lines.size()).isEqualTo(other.lines.get(i));
        }
        assertThat(lines).hasSameSizeAs(other.lines);
    }

    /** Runs a body; what it throws is thrown on with the last calls. */
    public void explain(Runnable body) {
        try {
            body.run();
        } catch (AssertionError | RuntimeException e) {
            StringBuilder last = new StringBuilder();
            for (String line : lines.subList(Math.max(0, lines.size() - SHOWN), lines.size())) {
                last.append("\n  ").append(line.length() > WIDTH ? line.substring(0, WIDTH) + "..." : line);
            }
            throw new AssertionError(e.getMessage() + "\nthe last calls:" + last, e);
        }
    }
}
