/**
 * A simulated network of RDMA devices below the facade: virtual time, one thread, one seed.
 *
 * <pre>
 *   engine a ── facade ── SimulatedProvider a ── SimulatedDevice ─┐
 *   engine b ── facade ── SimulatedProvider b ── SimulatedDevice ─┼─ SimulatedNetwork: time, cuts, delays
 *
 *   postSend ─▶ SimulatedQueuePair ── pieces of 64 bytes are sampled and land in any order ─▶ SimulatedCompletionQueue ─▶ pollCq
 * </pre>
 */
@NullMarked
package io.mooncake.rdma.sim;

import org.jspecify.annotations.NullMarked;
