package io.holdfast.redis.graph;

import java.util.List;

/**
 * What repair did, or would do.
 *
 * @param verify what the verify that it is based on found
 * @param applied false: a dry run, nothing was written
 * @param repaired what was mended; in a dry run what would be
 * @param left what only people can decide about
 * @param changed what was not touched, since it changed after verify saw it; another run may find it again
 */
public record RepairReport(
        VerifyReport verify, boolean applied, List<Finding> repaired, List<Finding> left, List<Finding> changed) {}
