package io.holdfast.redis.graph;

/**
 * How much there is in a graph, from the lengths of its parts and from counters: asking costs one short call, whatever
 * the size.
 *
 * @param values values that are there, held or doomed
 * @param largeValues those of them that are kept in chunks
 * @param edges holds of values on values
 * @param leases leases that are out, and released ones whose deadline has not come
 * @param doomed elements of the work list; each is a dead lease, or up to 256 values that nobody holds
 * @param ledgerRecords records in the ledger
 * @param miscounts releases that were refused since more was given up than was held; anything but 0 calls for a verify
 * @param memoryBytes what the graph takes of the server's memory, as the server estimates it from samples; -1 if it does
 *     not tell
 */
public record GraphStatistics(
        long values,
        long largeValues,
        long edges,
        long roots,
        long leases,
        long doomed,
        long ledgerRecords,
        long miscounts,
        long memoryBytes) {}
