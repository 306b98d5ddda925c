/**
 * Reads over TCP: one poller, one selector, one or several connections per peer and direction.
 *
 * <pre>
 *   any thread     submit(read), send(message)
 *                       │ bounded MPSC queue
 *                       ▼
 *   TcpPoller      Peers ──► PeerLanes          what waits for a peer, cut into ranges, each to its freest lane
 *                       ▼
 *                  ClientLane ── READ ──────────────► ServerLane      pin, copy to the socket, guard, unpin
 *                       │ ◄── CHUNK bytes, guard ──┘
 *                       ▼
 *   destination    bytes go from the socket into the region; proven chunk by chunk by the guard that follows them
 * </pre>
 *
 * <p>The frames are drawn in {@link io.mooncake.core.transfer.tcp.Frames} and explained in docs/protocol.md.
 */
@NullMarked
package io.mooncake.core.transfer.tcp;

import org.jspecify.annotations.NullMarked;
