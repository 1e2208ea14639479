package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.slab.AuditReport;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Walks everything and compares it with every counter. */
@Command(
        name = "audit",
        description = {
            "Walk every page, chain and queue of a cache, check every checksum, and compare with every counter.",
            "Changes nothing, and has no answer while other processes write all the time. With --under-lock it attaches"
                    + " to the cache like them and keeps them from writing: their puts wait (about a second per GiB),"
                    + " their gets do not. Exit code 1 if anything disagrees.",
        },
        footer = {
            "  holdfast cache audit /dev/shm/pages",
            "  holdfast cache audit /dev/shm/pages --under-lock",
        })
final class AuditCommand extends CacheCommand {

    @Option(
            names = "--under-lock",
            description =
                    "Attach, and keep others from writing meanwhile. A damaged cache of no living process is rebuilt.")
    private boolean underLock;

    @Override
    Answer run(Path path, Console console) {
        AuditReport report = underLock ? CacheAudit.underLock(path) : CacheAudit.of(path);
        Answer answer = report.isClean() ? Answer.ok() : Answer.finding();
        answer.line(String.format(
                java.util.Locale.ROOT,
                "%,d values, %,d bytes, %d pages used, %d free: %s",
                report.items(),
                report.itemBytes(),
                report.usedPages(),
                report.freePages(),
                report.isClean() ? "all counts agree" : report.problems().size() + " problems"));
        report.problems().forEach(answer::line);
        return answer.field("clean", report.isClean())
                .field("values", report.items())
                .field("bytes", report.itemBytes())
                .field("usedPages", report.usedPages())
                .field("freePages", report.freePages())
                .field("problems", report.problems());
    }
}
