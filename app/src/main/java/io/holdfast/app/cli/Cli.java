package io.holdfast.app.cli;

import io.holdfast.HoldfastException;
import io.holdfast.Setting;
import io.holdfast.ThingId;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/**
 * Runs a command line: parses it, lets the command work, prints its answer or its failure, and says with which code the
 * process should end. It is the only place where any of this happens, so all commands behave alike:
 *
 * <ul>
 *   <li>the result goes to standard output, all else to standard error;
 *   <li>with {@code --json}, standard output holds exactly one JSON object, also when the command line was wrong;
 *   <li>a failure is one line that says what to do, a stack trace only with {@code --verbose}.
 * </ul>
 */
public final class Cli {

    private static final int OPTION_COLUMN_WIDTH = 28;

    private final CommandLine commandLine;
    private final Console console;
    private boolean verbose;

    /** The root is a {@link CommandGroup}, or the one {@link CliCommand} of a program that has no more. */
    public Cli(Object root, Console console) {
        this.console = console;
        this.commandLine = commandLine(root);
        keepExamplesWhole(commandLine);
        commandLine.setUsageHelpWidth(console.width());
        commandLine.setColorScheme(CommandLine.Help.defaultColorScheme(useColour(console) ? Ansi.ON : Ansi.OFF));
    }

    private static boolean useColour(Console console) {
        return console.outIsTerminal() && System.getenv("NO_COLOR") == null;
    }

    /** Examples are lines to paste, so they are never broken, however narrow the terminal is. */
    private static void keepExamplesWhole(CommandLine commandLine) {
        commandLine
                .getHelpSectionMap()
                .put(
                        UsageMessageSpec.SECTION_KEY_FOOTER,
                        help -> String.join(
                                        System.lineSeparator(),
                                        help.commandSpec().usageMessage().footer())
                                + System.lineSeparator());
        commandLine.getSubcommands().values().forEach(Cli::keepExamplesWhole);
    }

    /** The parsed shape of all commands; what completion and the tests of all commands look at. */
    public static CommandLine commandLine(Object root) {
        return new CommandLine(root)
                .registerConverter(Duration.class, refusing(Setting::parseDuration))
                .registerConverter(ThingId.class, refusing(ThingId::parse))
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setAbbreviatedOptionsAllowed(false)
                .setUsageHelpLongOptionsMaxWidth(OPTION_COLUMN_WIDTH);
    }

    /** A converter whose refusal becomes the error line. */
    private static <T> ITypeConverter<T> refusing(Function<String, T> parser) {
        return text -> {
            try {
                return parser.apply(text);
            } catch (HoldfastException e) {
                throw new TypeConversionException(e.getMessage() + ": " + e.action());
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        };
    }

    /** Never throws, never exits. */
    public ExitCode run(String... args) {
        verbose = hasFlag(args, "--verbose");
        if (hasFlag(args, "--json")) {
            console.useJson();
        }
        LogOutput.use(verbose);
        ExitCode code;
        try {
            code = dispatch(args);
        } catch (ClosedOutput _) {
            code = ExitCode.OK;
        } catch (Throwable failure) {
            code = report(failure);
        }
        console.out().flush();
        console.err().flush();
        return code;
    }

    /** Known before parsing, since a wrong command line must be answered in JSON as well. */
    private static boolean hasFlag(String[] args, String flag) {
        List<String> options = Arrays.asList(args);
        int end = options.indexOf("--");
        return (end < 0 ? options : options.subList(0, end)).contains(flag);
    }

    private ExitCode dispatch(String[] args) throws Exception {
        ParseResult parsed = commandLine.parseArgs(args);
        CommandLine asked = parsed.asCommandLineList().getLast();
        if (asked.isUsageHelpRequested() || (args.length == 0)) {
            String help = asked.getUsageMessage(asked.getColorScheme());
            return print(Answer.ok().field("help", help).line(help.stripTrailing()));
        }
        if (commandLine.isVersionHelpRequested()) {
            return print(version());
        }
        if (asked.getCommandSpec().userObject() instanceof CliCommand command) {
            return print(command.run(console));
        }
        throw new CommandLine.ParameterException(
                asked,
                "'" + asked.getCommandSpec().qualifiedName(" ") + "' needs a command: "
                        + String.join(", ", asked.getSubcommands().keySet()));
    }

    private Answer version() {
        String version = commandLine.getCommandSpec().version()[0];
        String java = Runtime.version().toString();
        return Answer.ok()
                .line("holdfast " + version + " (Java " + java + ")")
                .field("version", version)
                .field("java", java);
    }

    private ExitCode print(Answer answer) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>(answer.fields());
        if (answer.cause() != null) {
            fields.putAll(Failure.of(answer.cause()).json());
            traceIfVerbose(answer.cause());
        }
        if (console.isJson()) {
            console.out().println(Json.text(fields));
        } else {
            answer.lines().forEach(console.out()::println);
        }
        return answer.code();
    }

    private ExitCode report(Throwable thrown) {
        Failure failure = Failure.of(thrown);
        console.out().flush();
        traceIfVerbose(thrown);
        if (console.isJson()) {
            console.out().println(Json.text(failure.json()));
        } else {
            console.err().println(failure.line(commandLine.getCommandName()));
        }
        return failure.code();
    }

    private void traceIfVerbose(Throwable thrown) {
        if (verbose) {
            thrown.printStackTrace(console.err());
        }
    }
}
