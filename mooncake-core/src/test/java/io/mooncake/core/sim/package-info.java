/**
 * The cluster's simulator: real nodes in one thread, on virtual time, from one seed.
 *
 * <pre>
 *   seed ─▶ World ── one step: an event of the network, a duty cycle of a node, or an action of Workload or Faults
 *             │         then: what must always hold (SimNode.check, Memories at every landing)
 *             ├─ SimNode    a real Node (INVOKER): store, manager, conductor, local and one-sided engine, replicated registry
 *             ├─ SimBus     the registries' messages: late, lost, doubled, reordered, cut
 *             ├─ SimNetwork the one-sided fabric: bytes sampled in pieces of 64, in any order, landing late
 *             └─ Tally      how often every edge, outcome and fault was met
 * </pre>
 */
@NullMarked
package io.mooncake.core.sim;

import org.jspecify.annotations.NullMarked;
