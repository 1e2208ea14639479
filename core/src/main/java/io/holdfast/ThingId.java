package io.holdfast;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Names one thing that Holdfast keeps or has reclaimed, in the form that {@code holdfast why} takes: {@code
 * kind:space/id}.
 *
 * @param space the graph, session set, aggregate set or storage node that the thing belongs to
 * @param id the thing's own id there; any text
 */
public record ThingId(Kind kind, String space, String id) {

    /** The kinds of things whose end is recorded. */
    public enum Kind {
        VALUE("value:GRAPH/ID"),
        ROOT("root:GRAPH/NAME"),
        LEASE("lease:GRAPH/HOLDER"),
        SESSION("session:SET/ID"),
        AGGREGATE("aggregate:SET/KEY"),
        PIECE("piece:NODE/ID"),
        GRAPH("graph:NAME/INCARNATION");

        private final String form;

        Kind(String form) {
            this.form = form;
        }

        /** How an id of this kind is written. */
        public String form() {
            return form;
        }

        /** The word before the colon. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public ThingId {
        if (space.isEmpty() || space.indexOf('/') >= 0 || id.isEmpty()) {
            throw HoldfastException.misuse(
                    "'" + kind.word() + ":" + space + "/" + id + "' names nothing", "write it as " + kind.form());
        }
    }

    @Override
    public String toString() {
        return kind.word() + ':' + space + '/' + id;
    }

    public static ThingId parse(String text) {
        int colon = text.indexOf(':');
        int slash = text.indexOf('/', colon + 1);
        if (colon > 0 && slash > 0) {
            for (Kind kind : Kind.values()) {
                if (kind.word().equals(text.substring(0, colon))) {
                    return new ThingId(kind, text.substring(colon + 1, slash), text.substring(slash + 1));
                }
            }
        }
        throw HoldfastException.misuse(
                "'" + text + "' names nothing",
                "write one of " + Arrays.stream(Kind.values()).map(Kind::form).collect(Collectors.joining(", ")));
    }
}
