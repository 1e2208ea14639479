package io.holdfast.redis.link;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.Ledger;
import io.holdfast.LedgerContract;
import io.holdfast.Settings;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;

class RedisLedgerIT extends LedgerContract {

    @RegisterExtension
    static final SharedRedis redis = SharedRedis.plain();

    private final List<RedisLink> links = new ArrayList<>();

    @Override
    protected Ledger ledger(int capacity) {
        RedisLink link = RedisLink.connect(
                Settings.none().set(LinkSettings.URI, redis.uri().toString()));
        links.add(link);
        return new RedisLedger(link, "hf:{test:x:0}:ledger".getBytes(US_ASCII), capacity);
    }

    @AfterEach
    void close() {
        links.forEach(RedisLink::close);
    }
}
