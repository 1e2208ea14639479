package io.holdfast.redis.aggregate;

import io.holdfast.redis.aggregate.AggregateScripts.Seen;
import io.holdfast.redis.aggregate.AggregateScripts.Span;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The positions of ordered sources that one publish of a key has: of each source one span of those that are new, and before it
 * every position by itself that the store has passed already, because its update was refused then.
 */
final class Spans {

    private final String key;
    private final Map<String, Seen> known;
    private final Map<String, Source> sources = new HashMap<>(2);
    private @Nullable Source latest;

    /** @param known what the store has said of a source when it refused positions of it */
    Spans(String key, Map<String, Seen> known) {
        this.key = key;
        this.known = known;
    }

    void add(SourceProgress progress, long position) {
        Source source = latest;
        if (source == null || source.progress != progress) {
            source = sources.computeIfAbsent(progress.source(), name -> new Source(known.get(name)));
            source.progress = progress;
            latest = source;
        }
        source.add(progress.source(), position);
    }

    List<Span> all() {
        List<Span> all = new ArrayList<>(sources.size());
        sources.forEach((name, source) -> source.addTo(all, name, key));
        return all;
    }

    private static final class Source {
        private final long passed;
        private final Deque<Span> alone = new ArrayDeque<>(0);
        private @Nullable SourceProgress progress;
        private long from = Long.MAX_VALUE;
        private long to = -1;

        Source(@Nullable Seen seen) {
            this.passed = seen == null ? -1 : seen.position();
        }

        void add(String name, long position) {
            if (position <= passed) {
                alone.addFirst(new Span(name, position, position, List.of()));
            } else {
                from = Math.min(from, position);
                to = Math.max(to, position);
            }
        }

        void addTo(List<Span> all, String name, String key) {
            all.addAll(alone);
            if (to >= 0 && progress != null) {
                all.add(new Span(name, from, to, progress.refusedUpTo(to, key)));
            }
        }
    }
}
