/**
 * The one-sided machine's tests, and the simulated network that they and the cluster's simulator run it on: virtual time, one thread,
 * one seed.
 *
 * <pre>
 *   OneSidedEngine a ── SimFabric a ─┐                       VirtualTime: the events, in the order of time
 *   OneSidedEngine b ── SimFabric b ─┼─ SimNetwork ──▶ pieces of 64 bytes are sampled from the owner's memory, in any order, and
 *   OneSidedEngine c ── SimFabric c ─┘                 land later, in any order, until the completion was polled
 * </pre>
 */
@NullMarked
package io.mooncake.core.transfer.onesided;

import org.jspecify.annotations.NullMarked;
