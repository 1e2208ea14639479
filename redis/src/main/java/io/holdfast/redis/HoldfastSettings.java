package io.holdfast.redis;

import io.holdfast.Setting;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.graph.GraphSettings;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.session.SessionSettings;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The settings of the facade, and the list of all that a client knows. */
public final class HoldfastSettings {

    /** The name by which people recognise this process in {@code why} and in the ledger. */
    public static final Setting<String> INSTANCE = Setting.text(
            "instance",
            "",
            Pattern.compile("[A-Za-z0-9._-]{0,64}"),
            "1 to 64 of A-Z a-z 0-9 . _ - (empty: host and pid)");

    /** How many threads run all background duties of one client. */
    public static final Setting<Integer> DUTY_THREADS = Setting.integer("duties.threads", 2, 1, 64);

    public static final List<Setting<?>> ALL = Stream.of(
                    List.of(
                            INSTANCE,
                            DUTY_THREADS,
                            LinkSettings.URI,
                            LinkSettings.TIMEOUT,
                            LinkSettings.CONNECT_TIMEOUT,
                            LinkSettings.CONNECTIONS,
                            LinkSettings.WAIT_REPLICAS,
                            RedisLedger.CAPACITY),
                    GraphSettings.ALL,
                    SessionSettings.ALL,
                    AggregateSettings.ALL)
            .<Setting<?>>flatMap(List::stream)
            .toList();

    /** The beginnings of the names that are this client's alone: what else begins so is a mistake. */
    static final List<String> PREFIXES = List.of(
            "holdfast.redis.", "holdfast.duties.", "holdfast.graph.", "holdfast.sessions.", "holdfast.aggregates.");

    private HoldfastSettings() {}
}
