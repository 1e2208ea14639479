/** {@code holdfast ledger}: what was reclaimed everywhere, and why. */
@NullMarked
package io.holdfast.app.ledger;

import org.jspecify.annotations.NullMarked;
