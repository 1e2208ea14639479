/** {@code holdfast sweep}: cycles over catalogues and storage nodes, on this machine or a fleet. */
@NullMarked
package io.holdfast.app.sweep;

import org.jspecify.annotations.NullMarked;
