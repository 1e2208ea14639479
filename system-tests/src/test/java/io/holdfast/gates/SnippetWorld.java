package io.holdfast.gates;

/** What a reader's own program has and the snippets of the pages take for granted. */
public abstract class SnippetWorld {}
