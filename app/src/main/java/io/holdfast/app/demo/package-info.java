/** {@code holdfast demo}: the story in five short chapters, on an embedded server and local storage nodes. */
@NullMarked
package io.holdfast.app.demo;

import org.jspecify.annotations.NullMarked;
