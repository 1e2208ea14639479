package io.holdfast.redis.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.exceptions.JedisDataException;

class RedisFailuresTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "NOPERM User app has no permissions to run the 'renamenx' command",
                "ERR The user executing the script can't run this command or subcommand script: 5ca1ab1e, on"
                        + " @user_script:9.",
                "ERR ACL failure in script: User app has no permissions to run the 'renamenx' command",
            })
    void whatAUserMayNotDoIsToldInTheWordsOfAnyServer(String reply) {
        HoldfastException failure = RedisFailures.of("put.lua", new JedisDataException(reply));

        assertThat(failure.category()).isEqualTo(Category.MISUSE);
        assertThat(failure).hasMessageContaining("put.lua: Redis answered " + reply);
        assertThat(failure.action()).contains("docs/operating.md");
    }
}
