/** What the commands on sessions and on aggregates show alike: lives of things that are held. */
@NullMarked
package io.holdfast.app.hold;

import org.jspecify.annotations.NullMarked;
