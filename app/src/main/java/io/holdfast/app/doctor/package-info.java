/** {@code holdfast doctor}: is this machine and this Redis fit for Holdfast, and if not, what to do. */
@NullMarked
package io.holdfast.app.doctor;

import org.jspecify.annotations.NullMarked;
