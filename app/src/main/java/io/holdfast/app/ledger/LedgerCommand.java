package io.holdfast.app.ledger;

import io.holdfast.HoldfastException;
import io.holdfast.Reclaimed;
import io.holdfast.Setting;
import io.holdfast.ThingId;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.app.cli.Table;
import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLedger;
import io.holdfast.redis.link.RedisLink;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What is gone, from all ledgers of a Redis. */
@Command(
        name = "ledger",
        description = {
            "List what was reclaimed, oldest first: what it was, why, on what evidence, when and by whom.",
            "Reads the ledgers of all graphs, session sets and aggregates of a Redis.",
            "Storage nodes have ledgers of their own: ask 'holdfast why piece:NODE/ID'.",
        },
        footer = {
            "  holdfast ledger --since 1h",
            "  holdfast ledger --kind session --follow",
        })
public final class LedgerCommand extends CliCommand {

    private static final Duration PAUSE = Duration.ofSeconds(1);
    private static final int IDS_SHOWN = 3;

    @Mixin
    private RedisOption redis = new RedisOption();

    @Option(
            names = "--kind",
            paramLabel = "KIND",
            description = "Only things of this kind: value, root, lease, session, aggregate, graph.")
    private ThingId.@Nullable Kind kind;

    @Option(names = "--since", paramLabel = "WHEN", description = "Only from then on: 15m, 1h, 7d, or an instant.")
    private @Nullable String since;

    @Option(
            names = "--limit",
            converter = AtLeastOne.class,
            paramLabel = "N",
            description = "The newest so many (default 100).")
    private int limit = 100;

    @Option(names = "--follow", description = "Go on with what is reclaimed from now on, a line each, until stopped.")
    private boolean follow;

    @Option(names = "--for", paramLabel = "TIME", description = "With --follow: stop after this time.")
    private @Nullable Duration followFor;

    @Override
    protected Answer run(Console console) throws Exception {
        if (follow && console.isJson()) {
            throw HoldfastException.misuse(
                    "--follow with --json, which is one object", "ask again with --since instead, or leave out --json");
        }
        if (followFor != null && !follow) {
            throw HoldfastException.misuse("--for without --follow", "add --follow");
        }
        if (kind == ThingId.Kind.PIECE) {
            throw HoldfastException.misuse(
                    "pieces are in the ledgers of their storage nodes, not in Redis",
                    "ask 'holdfast why piece:NODE/ID'");
        }
        Instant from = since == null ? Instant.EPOCH : parse(since);
        try (RedisLink link = redis.link()) {
            List<Reclaimed> records = read(link, from);
            int shown = Math.min(records.size(), limit);
            List<Reclaimed> newest = records.subList(records.size() - shown, records.size());
            if (follow) {
                follow(link, newest, records, console);
                return Answer.ok();
            }
            Answer answer = Answer.ok().table("records", table(newest)).field("omitted", records.size() - shown);
            return shown == records.size()
                    ? answer
                    : answer.line((records.size() - shown) + " older records are not shown; raise --limit");
        }
    }

    private List<Reclaimed> read(RedisLink link, Instant from) {
        List<Reclaimed> records = new ArrayList<>();
        for (Keyspace shard : link.find("ledger")) {
            records.addAll(new RedisLedger(link, shard.key("ledger"), 1).since(from, Integer.MAX_VALUE));
        }
        records.removeIf(record -> kind != null && record.kind() != kind);
        records.sort(Comparator.comparing(Reclaimed::at));
        return records;
    }

    /** Asks once a second for what came since; what has the time of the last is told apart by itself. */
    private void follow(RedisLink link, List<Reclaimed> newest, List<Reclaimed> known, Console console)
            throws InterruptedException {
        newest.forEach(record -> console.show(line(record)));
        Set<Reclaimed> told = new HashSet<>(known);
        Instant from = known.isEmpty() ? Instant.EPOCH : known.getLast().at().minus(PAUSE);
        long end = System.nanoTime() + (followFor == null ? Duration.ofDays(365) : followFor).toNanos();
        while (System.nanoTime() - end < 0) {
            TimeUnit.NANOSECONDS.sleep(Math.clamp(end - System.nanoTime(), 1, PAUSE.toNanos()));
            List<Reclaimed> now = read(link, from);
            now.stream().filter(record -> !told.contains(record)).forEach(record -> console.show(line(record)));
            if (!now.isEmpty()) {
                told.clear();
                told.addAll(now);
                // A shard's clock may be a little behind another's.
                from = now.getLast().at().minus(PAUSE.multipliedBy(5));
            }
        }
    }

    private static Instant parse(String text) {
        try {
            return Instant.parse(text);
        } catch (DateTimeParseException e) {
            try {
                return Instant.now().minus(Setting.parseDuration(text));
            } catch (IllegalArgumentException notThisEither) {
                throw HoldfastException.misuse(
                        "--since '" + text + "' is neither a time ago nor an instant",
                        "write it as 15m, 1h, 7d, or 2026-01-31T12:00:00Z");
            }
        }
    }

    private static Table table(List<Reclaimed> records) {
        Table table = Table.of("at", "kind", "space", "reason", "things", "ids", "evidence", "by");
        for (Reclaimed record : records) {
            table.row(
                    record.at(),
                    record.kind().word(),
                    record.space(),
                    record.reason(),
                    record.ids().size(),
                    ids(record),
                    record.evidence(),
                    record.by().toString());
        }
        return table;
    }

    private static String ids(Reclaimed record) {
        List<String> ids = record.ids();
        String some = String.join(" ", ids.subList(0, Math.min(IDS_SHOWN, ids.size())));
        return ids.size() <= IDS_SHOWN ? some : some + " and " + (ids.size() - IDS_SHOWN) + " more";
    }

    private static String line(Reclaimed record) {
        return record.at() + "  " + record.kind().word() + ":" + record.space() + "/" + ids(record) + "  "
                + record.reason().name().toLowerCase(Locale.ROOT) + ": " + record.evidence() + ", by " + record.by();
    }
}
