package io.holdfast.app.sweep;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.CliCommand;
import io.holdfast.app.cli.Console;
import io.holdfast.sweep.cycle.Vouch;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.retain.SigningKey;
import java.nio.file.Path;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Signs that an idle catalogue is whole. */
@Command(
        name = "vouch",
        description = {
            "Sign that a catalogue is whole up to now, though nothing was added to it for long. Good for a day.",
            "A cycle judges nothing that came after the newest row, as a replica that lags looks like an idle"
                    + " catalogue.",
        },
        footer = {
            "  holdfast sweep vouch --owner photos --key ann.key --out photos.vouch",
            "  holdfast sweep run --catalogue pieces.csv --fleet fleet --key manager.key --keys keys --log"
                    + " /var/lib/holdfast --vouch photos.vouch",
        })
public final class VouchCommand extends CliCommand {

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose catalogue.")
    private String owner = "";

    @Option(names = "--key", paramLabel = "FILE", required = true, description = "The signing key of an operator.")
    private Path key = Path.of("");

    @Option(names = "--out", paramLabel = "FILE", required = true, description = "Where it goes.")
    private Path out = Path.of("");

    @Override
    protected Answer run(Console console) throws Exception {
        Instant now = Instant.now();
        Vouch.write(out, new OwnerId(owner), SigningKey.read(key), now);
        return Answer.ok()
                .line("the catalogue of " + owner + " is whole up to " + now)
                .field("upTo", now);
    }
}
