package io.holdfast.app.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.doctor.Check.Status;
import io.holdfast.redis.link.ServerFacts;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RedisChecksTest {

    /** A good server, but for the facts given as name, value, name, value. */
    private static ServerFacts serverWith(String... facts) {
        Map<String, String> info = new HashMap<>(Map.of(
                "redis_version", "7.4.1",
                "role", "master",
                "maxmemory_policy", "noeviction",
                "maxmemory", "0",
                "used_memory", "1048576",
                "loading", "0",
                "aof_enabled", "1",
                "aof_last_write_status", "ok",
                "rdb_last_bgsave_status", "ok"));
        for (int i = 0; i < facts.length; i += 2) {
            info.put(facts[i], facts[i + 1]);
        }
        return new ServerFacts(info);
    }

    @Test
    void aGoodServerIsOkInEveryLine() {
        assertThat(RedisChecks.ofServer(serverWith(), false))
                .allSatisfy(check -> assertThat(check.status()).isEqualTo(Status.OK))
                .allSatisfy(check -> assertThat(check.action()).isNull());
    }

    @ParameterizedTest
    @CsvSource({
        "redis_version, 6.2.14, version, PROBLEM",
        "redis_version, unknown, version, PROBLEM",
        "role, slave, role, PROBLEM",
        "maxmemory_policy, allkeys-lru, eviction policy, PROBLEM",
        "maxmemory_policy, allkeys-random, eviction policy, PROBLEM",
        "maxmemory_policy, volatile-lru, eviction policy, OK",
        "maxmemory, 1100000, room, WARNING",
        "maxmemory, 11000000, room, OK",
        "aof_enabled, 0, persistence, WARNING",
        "loading, 1, persistence, PROBLEM",
        "aof_last_write_status, err, persistence, PROBLEM",
        "rdb_last_bgsave_status, err, persistence, PROBLEM",
    })
    void eachFactThatHurtsIsNamedWithWhatToDo(String fact, String value, String line, Status status) {
        Check check = RedisChecks.ofServer(serverWith(fact, value), false).stream()
                .filter(candidate -> candidate.check().equals(line))
                .findFirst()
                .orElseThrow();
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.action() == null).isEqualTo(status == Status.OK);
    }

    @Test
    void theEmbeddedServerNeedNotKeepItsData() {
        assertThat(RedisChecks.persistence(serverWith("aof_enabled", "0"), true).status())
                .isEqualTo(Status.OK);
    }

    @Test
    void aClockThatIsOffEitherWayIsAWarning() {
        assertThat(RedisChecks.clock(Duration.ofMillis(20)).status()).isEqualTo(Status.OK);
        assertThat(RedisChecks.clock(Duration.ofSeconds(5)).status()).isEqualTo(Status.WARNING);
        Check behind = RedisChecks.clock(Duration.ofSeconds(-5));
        assertThat(behind.status()).isEqualTo(Status.WARNING);
        assertThat(behind.found()).isEqualTo("the server is 5000 ms behind this machine");
    }

    @Test
    void slownessIsAWarningAndGreatSlownessAProblem() {
        assertThat(RedisChecks.latency(0.2, 3).status()).isEqualTo(Status.OK);
        assertThat(RedisChecks.latency(7, 9).status()).isEqualTo(Status.WARNING);
        assertThat(RedisChecks.latency(0.2, 300).status()).isEqualTo(Status.WARNING);
        assertThat(RedisChecks.latency(120, 300).status()).isEqualTo(Status.PROBLEM);
    }

    @Test
    void aMachineShortOfMemoryIsTold() {
        assertThat(MachineChecks.memory(4L << 30, 8L << 30).status()).isEqualTo(Status.OK);
        assertThat(MachineChecks.memory(200 << 20, 8L << 30).status()).isEqualTo(Status.WARNING);
        assertThat(MachineChecks.memory(20 << 20, 8L << 30).status()).isEqualTo(Status.PROBLEM);
        assertThat(MachineChecks.java(24, "24.0.1").status()).isEqualTo(Status.PROBLEM);
    }
}
