package io.holdfast.app.sweep;

import io.holdfast.Setting;
import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.CommandGroup;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.SigningKey;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The keys of a fleet. */
@Command(
        name = "keys",
        description = "Make, list and revoke the keys whose signatures storage nodes believe.",
        subcommands = {
            KeysCommands.New.class,
            KeysCommands.Add.class,
            KeysCommands.Show.class,
            KeysCommands.Revoke.class,
        },
        footer = {
            "  holdfast sweep keys new manager-2026 --role manager --key manager.key --keys keys",
            "  holdfast sweep keys list --keys keys",
            "  holdfast sweep keys revoke manager-2025 --keys keys",
        })
public final class KeysCommands extends CommandGroup {

    /** Makes a key. */
    @Command(
            name = "new",
            description = {
                "Make a signing key, and add its public half to the ring.",
                "Copy the ring to all nodes and workers; the signing key stays with who signs.",
            },
            footer = {
                "  holdfast sweep keys new manager-2026 --role manager --key manager.key --keys keys",
                "  holdfast sweep keys new ann --role operator --key ann.key --keys keys --valid 365d",
                "  holdfast sweep keys new worker-21 --role worker --key worker.key --keys keys",
            })
    public static final class New extends CliCommand {

        @Parameters(paramLabel = "ID", description = "Names the key for good.")
        private String id = "";

        @Option(names = "--role", paramLabel = "ROLE", required = true, description = "manager, operator or worker.")
        private KeyRing.Role role = KeyRing.Role.OPERATOR;

        @Option(names = "--key", paramLabel = "FILE", required = true, description = "The file to write it to.")
        private Path key = Path.of("");

        @Option(names = "--keys", paramLabel = "FILE", required = true, description = "The ring; made if not there.")
        private Path keys = Path.of("");

        @Option(names = "--valid", paramLabel = "TIME", description = "How long it is valid. Default 400d.")
        private Duration valid = Duration.ofDays(400);

        @Override
        protected Answer run(Console console) throws Exception {
            KeyRing ring = KeyRing.at(keys);
            SigningKey made = SigningKey.generate(id);
            Instant now = Instant.now();
            made.write(key);
            ring.add(KeyRing.entry(made, role, now.minusSeconds(60), now.plus(valid)));
            return Answer.ok()
                    .line("key " + id + " is " + role.name().toLowerCase(Locale.ROOT) + "'s for " + Setting.text(valid))
                    .field("id", id)
                    .field("role", role);
        }
    }

    /** Adds a key that was made elsewhere. */
    @Command(
            name = "add",
            description = {
                "Add the public half of a key that was made elsewhere, in PEM, to the ring.",
                "The signing key, in PKCS#8, is then named ID.pem, as its file carries no id.",
            },
            footer = {
                "  holdfast sweep keys add manager-7 --role manager --public manager-7.pub --keys keys",
            })
    public static final class Add extends CliCommand {

        @Parameters(paramLabel = "ID", description = "Names the key for good.")
        private String id = "";

        @Option(names = "--role", paramLabel = "ROLE", required = true, description = "manager, operator or worker.")
        private KeyRing.Role role = KeyRing.Role.OPERATOR;

        @Option(names = "--public", paramLabel = "FILE", required = true, description = "The public key, in PEM.")
        private Path open = Path.of("");

        @Option(names = "--keys", paramLabel = "FILE", required = true, description = "The ring; made if not there.")
        private Path keys = Path.of("");

        @Option(names = "--valid", paramLabel = "TIME", description = "How long it is valid. Default 400d.")
        private Duration valid = Duration.ofDays(400);

        @Override
        protected Answer run(Console console) throws Exception {
            Instant now = Instant.now();
            KeyRing.at(keys)
                    .add(new KeyRing.Entry(
                            id, role, now.minusSeconds(60), now.plus(valid), SigningKey.publicPem(open)));
            return Answer.ok()
                    .line("key " + id + " is " + role.name().toLowerCase(Locale.ROOT) + "'s for " + Setting.text(valid))
                    .field("id", id)
                    .field("role", role);
        }
    }

    /** Lists the ring. */
    @Command(
            name = "list",
            description = "Show the keys of a ring. Exit code 1 if one is valid for less than 30 days.",
            footer = {"  holdfast sweep keys list --keys keys"})
    public static final class Show extends CliCommand {

        private static final Duration SOON = Duration.ofDays(30);

        @Option(names = "--keys", paramLabel = "FILE", required = true, description = "The ring.")
        private Path keys = Path.of("");

        @Override
        protected Answer run(Console console) throws Exception {
            KeyRing ring = FleetOption.ring(keys);
            Instant now = Instant.now();
            Table table = Table.of("key", "role", "from", "until", "state");
            boolean soon = false;
            for (KeyRing.Entry entry : ring.entries()) {
                boolean revoked = ring.revoked().containsKey(entry.id());
                boolean valid = !revoked && !now.isBefore(entry.from()) && now.isBefore(entry.until());
                soon |= valid && entry.until().isBefore(now.plus(SOON));
                table.row(
                        entry.id(),
                        entry.role(),
                        entry.from(),
                        entry.until(),
                        revoked ? "revoked" : valid ? "valid" : "not valid now");
            }
            return (soon ? Answer.finding() : Answer.ok()).table("keys", table);
        }
    }

    /** Revokes a key. */
    @Command(
            name = "revoke",
            description = "Take a key's word away, at once. Copy the ring to all nodes and workers.",
            footer = {"  holdfast sweep keys revoke manager-2025 --keys keys"})
    public static final class Revoke extends CliCommand {

        @Parameters(paramLabel = "ID", description = "The key.")
        private String id = "";

        @Option(names = "--keys", paramLabel = "FILE", required = true, description = "The ring.")
        private Path keys = Path.of("");

        @Override
        protected Answer run(Console console) throws Exception {
            FleetOption.ring(keys).revoke(id, Instant.now());
            return Answer.ok()
                    .line("nothing that " + id + " signed counts any more")
                    .field("revoked", id);
        }
    }
}
