package io.holdfast.redis.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.redis.Holdfast;
import io.holdfast.testkit.SharedRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class NewSetIT {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    @Test
    void newSetSaysForHowLongNothingEndsAndAKnownOneSaysNothing() {
        List<String> lines = new CopyOnWriteArrayList<>();
        Handler handler = new Lines(lines);
        Logger logger = Logger.getLogger(Holds.class.getName());
        logger.addHandler(handler);
        try (Holdfast holdfast = Holdfast.connect(redis.uri().toString())) {
            for (int i = 0; i < 2; i++) {
                holdfast.sessions("rooms").lease(Duration.ofSeconds(1)).start().close();
            }
        } finally {
            logger.removeHandler(handler);
        }
        assertThat(lines)
                .singleElement()
                .asString()
                .contains("sessions 'rooms' is new at this server")
                .contains("for 500 ms (quiet time)");
    }

    private static final class Lines extends Handler {
        private final List<String> lines;

        Lines(List<String> lines) {
            this.lines = lines;
        }

        @Override
        public void publish(LogRecord line) {
            lines.add(line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
