package io.holdfast.sweep.transfer;

import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.piece.NodeId;

/** A node whose filter a worker is to build, and how large it is. */
public record NodeToBuild(NodeId node, FilterGeometry geometry) {}
