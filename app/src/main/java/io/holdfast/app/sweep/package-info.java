/** {@code holdfast sweep}: cycles over catalogues and storage nodes on this machine. */
@NullMarked
package io.holdfast.app.sweep;

import org.jspecify.annotations.NullMarked;
