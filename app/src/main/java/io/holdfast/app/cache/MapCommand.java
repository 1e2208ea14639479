package io.holdfast.app.cache;

import io.holdfast.app.cli.Answer;
import io.holdfast.app.cli.Console;
import io.holdfast.app.cli.Table;
import io.holdfast.slab.SlabInspector;
import io.holdfast.slab.SlabPage;
import io.holdfast.slab.SlabStats;
import java.util.List;
import java.util.TreeMap;
import picocli.CommandLine.Command;

/** Draws the pages. */
@Command(
        name = "map",
        description = {
            "Draw the pages of a cache: a letter for the slot that has the page, '.' for a free one.",
            "Below, the same pages by age: 0 was given to its slot lately, 9 is among the oldest.",
        },
        footer = "  holdfast cache map /dev/shm/pages")
final class MapCommand extends LookCommand {

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    private static final int WIDTH = 64;

    @Override
    Answer run(SlabInspector cache, Console console) {
        SlabStats stats = cache.stats();
        List<SlabPage> pages = cache.pages();
        TreeMap<Integer, Character> letters = new TreeMap<>();
        pages.stream()
                .filter(page -> page.slot() >= 0)
                .map(SlabPage::slot)
                .distinct()
                .sorted()
                .forEach(slot -> letters.put(slot, LETTERS.charAt(letters.size() % LETTERS.length())));
        StringBuilder bySlot = new StringBuilder();
        StringBuilder byAge = new StringBuilder();
        for (SlabPage page : pages) {
            boolean free = page.slot() < 0;
            bySlot.append(free ? '.' : (char) letters.getOrDefault(page.slot(), '?'));
            long age = Math.max(0, stats.version() - page.bornAtVersion());
            byAge.append(free ? '.' : (char) ('0' + Math.min(9, age * 10 / Math.max(1, stats.version()))));
        }
        Answer answer = Answer.ok().line("pages by slot");
        draw(bySlot, answer);
        answer.line("").line("pages by age");
        draw(byAge, answer);
        answer.line("");
        Table legend = Table.of("letter", "slot", "chunk", "pages", "values");
        letters.forEach((slot, letter) -> {
            SlabStats.Slot of = stats.slots().get(slot);
            legend.row(String.valueOf(letter), slot, of.chunkBytes(), of.pages(), of.items());
        });
        return answer.table("slots", legend).field("pages", pages);
    }

    private static void draw(StringBuilder cells, Answer answer) {
        for (int at = 0; at < cells.length(); at += WIDTH) {
            answer.line(String.format("%8d  %s", at, cells.substring(at, Math.min(cells.length(), at + WIDTH))));
        }
    }
}
