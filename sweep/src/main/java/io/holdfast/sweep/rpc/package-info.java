/** The sweep over gRPC: services, their clients, what they have in common. */
@NullMarked
package io.holdfast.sweep.rpc;

import org.jspecify.annotations.NullMarked;
