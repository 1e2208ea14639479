package io.holdfast.app.sessions;

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
import io.holdfast.redis.hold.HoldView;
import io.holdfast.redis.hold.HoldView.Life;
import io.holdfast.redis.hold.HoldView.State;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Looks at a set of sessions, and does what an operator may do to it. It takes no part in serving or closing. */
@Command(
        name = "sessions",
        description = "Look at sessions: who serves them, what is due, what could not be closed.",
        subcommands = {
            SessionsCommand.ListSessions.class,
            SessionsCommand.Show.class,
            SessionsCommand.End.class,
            SessionsCommand.DeadLetters.class,
            SessionsCommand.Retry.class,
            SessionsCommand.Discard.class,
            SessionsCommand.StatsOf.class,
        },
        footer = {
            "  holdfast sessions list rooms --state grace",
            "  holdfast sessions show rooms room-17",
        })
public final class SessionsCommand extends CommandGroup {

    /** What every verb needs: the server and the set's name. */
    abstract static class OnSet extends CliCommand {

        @Mixin
        private RedisOption redis = new RedisOption();

        @Parameters(index = "0", paramLabel = "NAME", description = "The set of sessions.")
        private String set = "";

        @Override
        protected Answer run(Console console) {
            try (Holdfast holdfast = Holdfast.builder().uri(redis.uri()).open()) {
                HoldView view = holdfast.sessions(set)
                        .look()
                        .orElseThrow(() -> new HoldfastException(
                                Category.GONE,
                                "there are no sessions '" + set + "' at " + holdfast.where(),
                                "check the name and the server",
                                null));
                return on(view);
            }
        }

        abstract Answer on(HoldView view);
    }

    @Command(
            name = "list",
            description = "List sessions by state, those that are due first.",
            footer = {"  holdfast sessions list rooms", "  holdfast sessions list rooms --state closing --limit 20"})
    static final class ListSessions extends OnSet {

        @Option(names = "--state", paramLabel = "STATE", description = "Only these: live, grace, closing, dead-letter.")
        private @Nullable String state;

        @Option(
                names = "--limit",
                converter = AtLeastOne.class,
                paramLabel = "N",
                description = "At most so many of each state (default 100).")
        private int limit = 100;

        @Override
        Answer on(HoldView view) {
            return Answer.ok().table("sessions", Lives.table("id", Lives.list(view::list, state, limit)));
        }
    }

    @Command(
            name = "show",
            description = "Show one session: its lives, holders with the time their leases still run, and data.",
            footer = "  holdfast sessions show rooms room-17")
    static final class Show extends OnSet {

        @Parameters(index = "1", paramLabel = "ID", description = "The session.")
        private String id = "";

        @Override
        Answer on(HoldView view) {
            List<Life> lives = view.show(id);
            if (lives.isEmpty()) {
                throw new HoldfastException(
                        Category.GONE,
                        "no session '" + id + "' in '" + view.set().name() + "'",
                        "ask 'holdfast why session:" + view.set().name() + "/" + id + "' whether it was closed",
                        null);
            }
            Answer answer = Answer.ok().field("id", id).table("lives", Lives.table("id", lives));
            Lives.addHolders(lives, answer);
            Table data = Table.of("field", "value");
            view.data(id, lives.getFirst().epoch()).forEach(data::row);
            if (data.size() > 0) {
                answer.line("").table("data", data);
            }
            return answer;
        }
    }

    @Command(
            name = "end",
            description = {
                "End a session that no instance holds, without waiting for its grace.",
                "One that is held is refused, unless forced; its holders are not told."
            },
            footer = {"  holdfast sessions end rooms room-17", "  holdfast sessions end rooms room-17 --force"})
    static final class End extends OnSet {

        @Parameters(index = "1", paramLabel = "ID", description = "The session.")
        private String id = "";

        @Option(names = "--force", description = "Also while instances hold it.")
        private boolean force;

        @Override
        Answer on(HoldView view) {
            view.end(id, force, Lives.operator());
            return Answer.ok()
                    .line("session '" + id + "' is due; the instances of '"
                            + view.set().name() + "' close it")
                    .field("id", id)
                    .field("due", true);
        }
    }

    @Command(
            name = "dead-letters",
            description = "List closes that failed too often. Exit code 1 if there are any.",
            footer = "  holdfast sessions dead-letters rooms")
    static final class DeadLetters extends OnSet {

        @Option(
                names = "--limit",
                converter = AtLeastOne.class,
                paramLabel = "N",
                description = "At most so many (default 100).")
        private int limit = 100;

        @Override
        Answer on(HoldView view) {
            return Lives.deadLetters("id", view.list(State.DEAD_LETTER, limit));
        }
    }

    @Command(
            name = "retry",
            description = "Give dead letters their attempts back: all of them, or those of one session.",
            footer = {"  holdfast sessions retry rooms", "  holdfast sessions retry rooms room-17"})
    static final class Retry extends OnSet {

        @Parameters(index = "1", arity = "0..1", paramLabel = "ID", description = "Only this session.")
        private @Nullable String id;

        @Override
        Answer on(HoldView view) {
            return Lives.retry(
                    view::list,
                    letter -> view.retry(letter.id(), letter.epoch()),
                    id,
                    view.set().name());
        }
    }

    @Command(
            name = "discard",
            description = "Forget a dead letter: its close is not tried again. The ledger keeps who discarded it.",
            footer = "  holdfast sessions discard rooms room-17 1794976521438902")
    static final class Discard extends OnSet {

        @Parameters(index = "1", paramLabel = "ID", description = "The session.")
        private String id = "";

        @Parameters(index = "2", paramLabel = "EPOCH", description = "Its life, as dead-letters shows it.")
        private long epoch;

        @Override
        Answer on(HoldView view) {
            view.discard(id, epoch, Lives.operator());
            return Lives.discarded(id, epoch);
        }
    }

    @Command(
            name = "stats",
            description = {
                "Count sessions by state, leases, and holders per session (sampled).",
                "Quiet: the store was replaced or out of reach, and nothing lapses or closes for one lease."
            },
            footer = "  holdfast sessions stats rooms")
    static final class StatsOf extends OnSet {

        @Override
        Answer on(HoldView view) {
            HoldView.Stats stats = view.stats();
            Table table = Table.of("figure", "value")
                    .row("live", stats.live())
                    .row("grace", stats.grace())
                    .row("due", stats.due())
                    .row("closing", stats.closing())
                    .row("dead letters", stats.deadLetters())
                    .row("leases", stats.leases())
                    .row("closed", stats.closed())
                    .row("quiet", stats.quiet());
            stats.holdersSampled()
                    .forEach((holders, count) -> table.row("sampled with " + holders + " holders", count));
            return Answer.ok().field("set", view.set().name()).table("figures", table);
        }
    }
}
