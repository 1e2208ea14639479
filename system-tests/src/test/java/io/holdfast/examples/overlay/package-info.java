/** An example that is also a test: a server of overlays with WebSockets, several instances of it, real clients. */
@NullMarked
package io.holdfast.examples.overlay;

import org.jspecify.annotations.NullMarked;
