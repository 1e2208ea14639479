/**
 * The vocabulary of Holdfast as types: who holds ({@link io.holdfast.HolderId}, {@link io.holdfast.Lease}), what is
 * gone and why ({@link io.holdfast.Reclaimed}, {@link io.holdfast.Ledger}), and who does the work ({@link
 * io.holdfast.Duty}, {@link io.holdfast.DutyRunner}). JDK only.
 */
@NullMarked
package io.holdfast;

import org.jspecify.annotations.NullMarked;
