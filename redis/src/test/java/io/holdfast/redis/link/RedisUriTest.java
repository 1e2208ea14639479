package io.holdfast.redis.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.HoldfastException;
import io.holdfast.redis.link.RedisUri.Endpoint;
import io.holdfast.redis.link.RedisUri.Mode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisUriTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://localhost:6379",
                "rediss://localhost:6380/3",
                "redis-cluster://a:1,b:2,c:3",
                "rediss-cluster://a:1",
                "redis-sentinel://a:26379,b:26380#main",
                "redis-sentinel://a:26379/2#main"
            })
    void everyFormReadsAsItIsWritten(String text) {
        assertThat(RedisUri.parse(text)).hasToString(text);
    }

    @Test
    void portsHaveTheirUsualDefaults() {
        assertThat(RedisUri.parse("redis://h").endpoints()).containsExactly(new Endpoint("h", 6379));
        assertThat(RedisUri.parse("redis-sentinel://h#m").endpoints()).containsExactly(new Endpoint("h", 26379));
        assertThat(RedisUri.parse("redis://[::1]:7000").endpoints()).containsExactly(new Endpoint("::1", 7000));
    }

    @Test
    void credentialsAreDecodedAndNeverPrinted() {
        RedisUri uri = RedisUri.parse("rediss://ann:p%40ss%2Fw+d@h:1/0");
        assertThat(uri.user()).isEqualTo("ann");
        assertThat(uri.password()).isEqualTo("p@ss/w+d");
        assertThat(uri.tls()).isTrue();
        assertThat(uri).hasToString("rediss://***@h:1");
        assertThat(RedisUri.parse("redis://:secret@h").user()).isNull();
        assertThat(RedisUri.parse("redis://secret@h").password()).isEqualTo("secret");
        assertThat(RedisUri.parse("redis-cluster://u:p@a,b").mode()).isEqualTo(Mode.CLUSTER);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {
                "http://localhost is",
                "redis:/localhost is",
                "redis:// is",
                "redis://a,b several",
                "redis://a:99999 1",
                "redis://a:b host:port",
                "redis-cluster://a/1 database",
                "redis-sentinel://a NAME",
                "redis://a#main Sentinel",
                "redis://a/x is"
            })
    void nonsenseIsRefusedWithTheReason(String text, String word) {
        assertThatThrownBy(() -> RedisUri.parse(text))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining(word);
    }

    @Test
    void refusalDoesNotTellThePassword() {
        assertThatThrownBy(() -> RedisUri.parse("redis://u:secret@h:0"))
                .hasMessageContaining("***")
                .hasMessageNotContaining("secret");
    }
}
