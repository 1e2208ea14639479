package io.holdfast.app;

import io.holdfast.app.aggregates.AggregatesCommand;
import io.holdfast.app.cache.CacheCommands;
import io.holdfast.app.cli.CommandGroup;
import io.holdfast.app.demo.DemoCommand;
import io.holdfast.app.doctor.DoctorCommand;
import io.holdfast.app.graph.GraphCommand;
import io.holdfast.app.ledger.LedgerCommand;
import io.holdfast.app.serve.ServeCommand;
import io.holdfast.app.sessions.SessionsCommand;
import io.holdfast.app.sweep.SweepCommands;
import io.holdfast.app.verify.VerifyCommand;
import io.holdfast.app.why.WhyCommand;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;

/** All commands. To add one: write its class, name it here. */
@Command(
        name = "holdfast",
        description = "Decides when shared data may be deleted.",
        subcommands = {
            DemoCommand.class,
            DoctorCommand.class,
            ServeCommand.class,
            WhyCommand.class,
            LedgerCommand.class,
            VerifyCommand.class,
            GraphCommand.class,
            SessionsCommand.class,
            AggregatesCommand.class,
            SweepCommands.class,
            CacheCommands.class,
            CompletionCommand.class,
        },
        versionProvider = HoldfastCommands.Version.class,
        footer = {
            "  holdfast demo",
            "  holdfast doctor",
            "  holdfast doctor --redis redis://localhost:6379",
            "",
            "Exit codes: 0 ok, 1 a finding, 2 usage, 3 not found, 4 unreachable, 5 corrupt, 70 a bug of ours.",
        })
public final class HoldfastCommands extends CommandGroup {

    @Option(names = "--version", versionHelp = true, description = "Show the version.")
    @SuppressWarnings("unused") // read by the Cli
    private boolean version;

    static final class Version implements IVersionProvider {

        @Override
        public String[] getVersion() {
            Properties build = new Properties();
            try (InputStream in = HoldfastCommands.class.getResourceAsStream("build.properties")) {
                build.load(in);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return new String[] {build.getProperty("version")};
        }
    }
}
