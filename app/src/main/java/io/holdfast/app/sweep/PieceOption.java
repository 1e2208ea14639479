package io.holdfast.app.sweep;

import io.holdfast.HoldfastException;
import io.holdfast.sweep.node.Pieces;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Whose piece, and where: the same for all commands that put or read pieces. */
public final class PieceOption {

    @Option(names = "--owner", paramLabel = "NAME", required = true, description = "Whose pieces.")
    private String owner = "";

    @Mixin
    private NodesOption nodes = new NodesOption();

    @Mixin
    private final FleetOption fleet = new FleetOption();

    /** What is done with the pieces of a node. */
    @FunctionalInterface
    interface Use<T> {
        T with(Pieces pieces) throws Exception;
    }

    OwnerId owner() {
        return new OwnerId(owner);
    }

    /** A node of a fleet that serves its pieces, or a folder here. */
    <T> T on(String node, Use<T> use) throws Exception {
        if (fleet.isGiven()) {
            try (fleet) {
                return use.with(fleet.pieces(node));
            }
        }
        try (OpenNodes open = nodes.open()) {
            return use.with(open.named(node));
        }
    }

    /** A piece, as {@code why piece:} names it. */
    record Named(String node, String id) {

        static Named parse(String text) {
            String name = text.startsWith("piece:") ? text.substring("piece:".length()) : text;
            int slash = name.indexOf('/');
            if (slash <= 0 || slash == name.length() - 1) {
                throw HoldfastException.misuse("a piece '" + text + "'", "write NODE/ID");
            }
            return new Named(name.substring(0, slash), name.substring(slash + 1));
        }

        PieceId id(Pieces on) {
            return PieceId.parse(id, on.idBytes());
        }
    }
}
