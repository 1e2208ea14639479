package io.holdfast.story;

/** How often a document was edited. */
public record Edits(long edits) {

    static Edits merge(Edits one, Edits other) {
        return new Edits(one.edits + other.edits);
    }
}
