/**
 * RDMA for Mooncake: whether this machine can do it, and the engine that reads peers' memory with it. Public are {@link
 * io.mooncake.rdma.Rdma}, {@link io.mooncake.rdma.RdmaTransferEngine} and {@link io.mooncake.rdma.RdmaConfig}; the rest stands beneath
 * the core's one-sided machine:
 *
 * <pre>
 *   OneSidedEngine ── RdmaFabric ─┬─ RdmaLane (one a queue pair): posts         ── Registration: keys of regions, by card
 *                                 ├─ Nic (one an open card): completion queue   ── NicUse: what the poller knows of it
 *                                 ├─ Registrations: has regions registered, and gives up what is not read into
 *                                 ├─ Parking: waits for a completion or a command
 *   control channel ── messages ──┼─ Registrar: the agent of the calls that take long
 *   (LaneMessages)                ├─ Cards: opens, looks after and reopens cards
 *                                 └─ ServedLanes: the other ends of peers' lanes
 * </pre>
 */
@NullMarked
package io.mooncake.rdma;

import org.jspecify.annotations.NullMarked;
