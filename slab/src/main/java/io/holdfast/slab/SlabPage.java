package io.holdfast.slab;

/**
 * One page as tools see it.
 *
 * @param slot -1 if it is free
 * @param used chunks in use, of so many; 1 of 1 for a page of a large value
 * @param bornAtVersion the region's version when it was given to its slot
 */
public record SlabPage(int number, int slot, boolean run, int used, int chunks, long bornAtVersion) {}
