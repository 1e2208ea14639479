package io.holdfast.app.doctor;

import io.holdfast.HoldfastException;
import io.holdfast.Settings;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.link.LinkSettings;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.RedisUri;
import io.holdfast.redis.link.ServerFacts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Looks at everything that Holdfast depends on, and says of each whether it is fit. */
@Command(
        name = "doctor",
        description = {
            "Check this machine and a Redis server: Java, memory, version, eviction policy, persistence, clock,"
                    + " latency.",
            "Each line is ok, a warning or a problem, with what to do. It only reads.",
            "Exit code 1 if there is a problem, 4 if the server cannot be reached.",
        },
        footer = {
            "  holdfast doctor                                      # this machine, with an embedded server",
            "  holdfast doctor --redis redis://localhost:6379",
            "  holdfast doctor --redis redis-cluster://a:6379,b:6379 --json",
        })
public final class DoctorCommand extends CliCommand {

    @Option(
            names = "--redis",
            paramLabel = "URI",
            description = "The server to look at. Without it, an embedded one is started and looked at.")
    private @Nullable String redis;

    @Override
    protected Answer run(Console console) {
        if (redis != null) {
            RedisUri.parse(redis); // a wrong URI is refused before anything else is said
        }
        List<Check> checks = new ArrayList<>(MachineChecks.all());
        HoldfastException failure = null;
        try {
            checks.addAll(redis == null ? lookAtEmbedded(console) : lookAt(redis, console));
        } catch (HoldfastException e) {
            failure = e.isRetryable() ? unreachable(e) : null;
            checks.add(Check.problem(
                    "redis", String.valueOf(e.getMessage()), failure == null ? e.action() : failure.action()));
        }
        return answer(checks, failure);
    }

    private static List<Check> lookAtEmbedded(Console console) {
        try (Holdfast holdfast = Holdfast.embedded()) {
            return lookAt(holdfast.link(), true, console);
        }
    }

    private static List<Check> lookAt(String uri, Console console) {
        Settings settings = Settings.ofProcess().set(LinkSettings.URI, uri);
        try (RedisLink link = RedisLink.inspect(settings)) {
            return lookAt(link, false, console);
        }
    }

    private static List<Check> lookAt(RedisLink link, boolean embedded, Console console) {
        List<Check> checks = new ArrayList<>();
        List<ServerFacts> servers = link.servers();
        checks.add(Check.ok("redis", (embedded ? "embedded, " : "") + link.where() + " answers"));
        for (ServerFacts server : servers) {
            String suffix = servers.size() == 1 ? "" : " of " + server.fact("tcp_port");
            for (Check check : RedisChecks.ofServer(server, embedded)) {
                checks.add(new Check(check.status(), check.check() + suffix, check.found(), check.action()));
            }
        }
        if (servers.stream().noneMatch(ServerFacts::isTooOld)) { // an old server does not know our scripts
            checks.addAll(RedisProbe.probe(link, console));
        }
        return checks;
    }

    private static HoldfastException unreachable(HoldfastException e) {
        return new HoldfastException(
                e.category(), String.valueOf(e.getMessage()), "start the server, or correct scheme, host and port", e);
    }

    private static Answer answer(List<Check> checks, @Nullable HoldfastException failure) {
        Table table = Table.of("status", "check", "found", "action");
        checks.forEach(check -> table.row(check.status(), check.check(), check.found(), check.action()));
        long problems = count(checks, Check.Status.PROBLEM);
        long warnings = count(checks, Check.Status.WARNING);
        Answer answer = failure != null ? Answer.failed(failure) : problems > 0 ? Answer.finding() : Answer.ok();
        return answer.field("healthy", problems == 0)
                .field("problems", problems)
                .field("warnings", warnings)
                .table("checks", table)
                .line(summary(problems, warnings));
    }

    private static String summary(long problems, long warnings) {
        if (problems == 0 && warnings == 0) {
            return "All is well.";
        }
        return problems
                + (problems == 1 ? " problem, " : " problems, ")
                + warnings
                + (warnings == 1 ? " warning." : " warnings.");
    }

    private static long count(List<Check> checks, Check.Status status) {
        return checks.stream().filter(check -> check.status() == status).count();
    }
}
