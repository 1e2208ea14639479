/** An example that is also a test: page-visit statistics from a Redis Stream, added up by three processes into a database. */
@NullMarked
package io.holdfast.examples.visits;

import org.jspecify.annotations.NullMarked;
