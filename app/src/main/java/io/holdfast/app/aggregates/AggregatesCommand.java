package io.holdfast.app.aggregates;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.CommandGroup;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.RedisOption;
import io.holdfast.app.cli.Table;
import io.holdfast.app.hold.Lives;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateView;
import io.holdfast.redis.aggregate.AggregateView.Epoch;
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.HoldView.Life;
import io.holdfast.redis.hold.HoldView.State;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Looks at a set of aggregates, and does what an operator may do to it. It takes no part in adding or flushing. */
@Command(
        name = "aggregates",
        description = "Look at aggregates: who adds to them, what waits for the sink, what could not be flushed.",
        subcommands = {
            AggregatesCommand.ListAggregates.class,
            AggregatesCommand.Show.class,
            AggregatesCommand.End.class,
            AggregatesCommand.DeadLetters.class,
            AggregatesCommand.Retry.class,
            AggregatesCommand.Discard.class,
            AggregatesCommand.StatsOf.class,
        },
        footer = {
            "  holdfast aggregates list visits --state closing",
            "  holdfast aggregates show visits index.html",
        })
public final class AggregatesCommand extends CommandGroup {

    /** What every verb needs: the server and the set's name. */
    abstract static class OnSet extends CliCommand {

        @Mixin
        private RedisOption redis = new RedisOption();

        @Parameters(index = "0", paramLabel = "NAME", description = "The set of aggregates.")
        private String set = "";

        @Override
        protected Answer run(Console console) {
            try (Holdfast holdfast = Holdfast.builder().uri(redis.uri()).open()) {
                return on(look(holdfast, set), holdfast);
            }
        }

        abstract Answer on(AggregateView view, Holdfast holdfast);
    }

    private static AggregateView look(Holdfast holdfast, String set) {
        return AggregateView.find(holdfast.link(), set)
                .orElseThrow(() -> new HoldfastException(
                        Category.GONE,
                        "there are no aggregates '" + set + "' at " + holdfast.where(),
                        "check the name and the server",
                        null));
    }

    @Command(
            name = "list",
            description = {
                "List epochs by state, those that are due first.",
                "The states: live (instances add to it), grace (all have left, its soft window runs), closing (ended,"
                        + " on its way to the sink), dead-letter."
            },
            footer = {
                "  holdfast aggregates list visits",
                "  holdfast aggregates list visits --state closing --limit 20"
            })
    static final class ListAggregates extends OnSet {

        @Option(names = "--state", paramLabel = "STATE", description = "Only these: live, grace, closing, dead-letter.")
        private @Nullable String state;

        @Option(
                names = "--limit",
                converter = AtLeastOne.class,
                paramLabel = "N",
                description = "At most so many of each state (default 100).")
        private int limit = 100;

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            return Answer.ok().table("aggregates", Lives.table("key", Lives.list(view::list, state, limit)));
        }
    }

    @Command(
            name = "show",
            description = "Show one key: its epochs, who holds it, its windows, and the parts of the instances.",
            footer = "  holdfast aggregates show visits index.html")
    static final class Show extends OnSet {

        @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
        private String key = "";

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            List<Epoch> epochs = view.show(key);
            if (epochs.isEmpty()) {
                throw new HoldfastException(
                        Category.GONE,
                        "no aggregate '" + key + "' in '" + view.set().name() + "'",
                        "ask 'holdfast why aggregate:" + view.set().name() + "/" + key + "' whether it was flushed",
                        null);
            }
            Table table = Table.of(
                    "epoch",
                    "state",
                    "holders",
                    "updates",
                    "parts",
                    "bytes",
                    "dueIn",
                    "endsIn",
                    "attempts",
                    "evidence");
            Table parts = Table.of("epoch", "part", "updates", "bytes", "published", "publishedAt", "lastEvent");
            for (Epoch epoch : epochs) {
                Life life = epoch.life();
                boolean open = isOpen(life);
                table.row(
                        life.epoch(),
                        Lives.word(life.state()),
                        life.holders().size(),
                        epoch.updates(),
                        epoch.parts().size(),
                        epoch.bytes(),
                        Lives.dueIn(life),
                        open ? Lives.time(epoch.endsInMillis()) : null,
                        life.attempts(),
                        life.evidence());
                epoch.parts()
                        .forEach(part -> parts.row(
                                life.epoch(),
                                part.instance(),
                                part.updates(),
                                part.bytes(),
                                part.published(),
                                part.publishedAt(),
                                part.lastEvent()));
            }
            Answer answer = Answer.ok().field("key", key).table("epochs", table);
            Lives.addHolders(epochs.stream().map(Epoch::life).toList(), answer);
            return answer.line("").table("parts", parts);
        }
    }

    @Command(
            name = "end",
            description = {
                "End the open epoch of a key that no instance holds.",
                "What is published so far goes to the sink, what comes later goes into the next epoch."
            },
            footer = {
                "  holdfast aggregates end visits index.html",
                "  holdfast aggregates end visits index.html --force   # also while instances hold it"
            })
    static final class End extends OnSet {

        @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
        private String key = "";

        @Option(names = "--force", description = "Also while instances hold it.")
        private boolean force;

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            String by = holdfast.self().toString();
            long epoch = force ? view.forceEnd(key, by) : view.end(key, by);
            return Answer.ok()
                    .line("aggregate '" + key + "' epoch " + epoch + " has ended; the instances of '"
                            + view.set().name() + "' flush it")
                    .field("key", key)
                    .field("epoch", epoch);
        }
    }

    @Command(
            name = "dead-letters",
            description = "List epochs that could not be flushed, with the reason. Exit code 1 if there are any.",
            footer = "  holdfast aggregates dead-letters visits")
    static final class DeadLetters extends OnSet {

        @Option(
                names = "--limit",
                converter = AtLeastOne.class,
                paramLabel = "N",
                description = "At most so many (default 100).")
        private int limit = 100;

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            return Lives.deadLetters("key", view.list(State.DEAD_LETTER, limit));
        }
    }

    @Command(
            name = "discard",
            description = {
                "Forget a dead letter and its parts: the epoch is not flushed.",
                "The ledger keeps who discarded it."
            },
            footer = "  holdfast aggregates discard visits index.html 1794976521438902")
    static final class Discard extends OnSet {

        @Parameters(index = "1", paramLabel = "KEY", description = "The key.")
        private String key = "";

        @Parameters(index = "2", paramLabel = "EPOCH", description = "Its epoch, as dead-letters shows it.")
        private long epoch;

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            view.discard(key, epoch, Lives.operator());
            return Lives.discarded(key, epoch);
        }
    }

    @Command(
            name = "retry",
            description = "Give dead letters their attempts back: all of them, or those of one key.",
            footer = {"  holdfast aggregates retry visits", "  holdfast aggregates retry visits index.html"})
    static final class Retry extends OnSet {

        @Parameters(index = "1", arity = "0..1", paramLabel = "KEY", description = "Only this key.")
        private @Nullable String key;

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            return Lives.retry(
                    view::list,
                    letter -> view.retry(letter.id(), letter.epoch()),
                    key,
                    view.set().name());
        }
    }

    @Command(
            name = "stats",
            description = {
                "Count epochs by state, leases, and the bytes of parts that wait in Redis.",
                "Quiet: the store was replaced or out of reach, and nothing lapses or ends for one lease."
            },
            footer = "  holdfast aggregates stats visits")
    static final class StatsOf extends OnSet {

        @Override
        Answer on(AggregateView view, Holdfast holdfast) {
            AggregateView.Stats all = view.stats();
            HoldView.Stats stats = all.holds();
            Table table = Table.of("figure", "value")
                    .row("live", stats.live())
                    .row("grace", stats.grace())
                    .row("due", stats.due())
                    .row("closing", stats.closing())
                    .row("dead letters", stats.deadLetters())
                    .row("leases", stats.leases())
                    .row("flushed", stats.closed())
                    .row("waitingBytes", all.waitingBytes())
                    .row("quiet", stats.quiet());
            return Answer.ok().field("set", view.set().name()).table("figures", table);
        }
    }

    private static boolean isOpen(Life life) {
        return life.state() == State.LIVE || life.state() == State.GRACE;
    }
}
