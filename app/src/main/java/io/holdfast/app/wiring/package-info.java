/** Where one part needs another: the graph as a catalogue, the slab cache as its near cache, sessions that own snapshots. */
@NullMarked
package io.holdfast.app.wiring;

import org.jspecify.annotations.NullMarked;
