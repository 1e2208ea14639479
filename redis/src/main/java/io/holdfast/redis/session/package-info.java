/**
 * Sessions: which instances serve a thing, and closing it once when none does any more. Begin with {@link
 * io.holdfast.redis.session.Sessions}.
 */
@NullMarked
package io.holdfast.redis.session;

import org.jspecify.annotations.NullMarked;
