package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.AtLeastOne;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.slab.SlabEntry;
import io.holdfast.slab.SlabInspector;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The largest or the newest values. */
@Command(
        name = "top",
        description = "List the largest values of a cache, or those stored last.",
        footer = {
            "  holdfast cache top /dev/shm/pages",
            "  holdfast cache top /dev/shm/pages --by version --limit 5",
        })
final class TopCommand extends LookCommand {

    /** What makes a value come first. */
    enum Order {
        SIZE,
        VERSION
    }

    @Option(names = "--by", paramLabel = "ORDER", description = "size or version (default: size).")
    private Order by = Order.SIZE;

    @Option(names = "--limit", converter = AtLeastOne.class, paramLabel = "N", description = "How many (default: 20).")
    private int limit = 20;

    @Override
    Answer run(SlabInspector cache, Console console) {
        Comparator<SlabEntry> order = by == Order.SIZE
                ? Comparator.comparingInt(SlabEntry::valueBytes)
                : Comparator.comparingLong(SlabEntry::version);
        PriorityQueue<SlabEntry> first = new PriorityQueue<>(order);
        cache.forEach(false, entry -> {
            first.add(entry);
            if (first.size() > limit) {
                first.poll();
            }
        });
        List<SlabEntry> entries = new ArrayList<>(first);
        entries.sort(order.reversed());
        Table table = Table.of("bytes", "version", "page", "namespace", "key");
        for (SlabEntry entry : entries) {
            table.row(entry.valueBytes(), entry.version(), entry.page(), entry.namespace(), readable(entry.key()));
        }
        return Answer.ok().table("values", table);
    }
}
