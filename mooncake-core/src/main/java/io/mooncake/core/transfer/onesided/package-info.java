/**
 * Reading a peer's memory without its CPU: what every engine over one-sided READs shares. A {@link
 * io.mooncake.core.transfer.onesided.Fabric} moves the bytes (verbs, or a simulated network); {@link
 * io.mooncake.core.transfer.onesided.OneSidedEngine} makes guarded reads of its requests.
 *
 * <pre>
 *   submit ─▶ Inbox ─▶ OneSidedEngine.doWork: one duty cycle
 *                        │ 1 take     reads from the inbox ─▶ ReadProgress, queued at its PeerPaths
 *                        │ 2 settle   completions of the fabric: chunk landed, guard seen, request flushed, stale cookie
 *                        │ 3 tick     deadlines, given up reads, stalled and broken lanes, back-off
 *                        ▼ 4 feed     peers in turn by byte budget, LOAD first: a chunk of a read on the emptiest lane
 *   PeerPaths (one a peer) ── LaneState (one a lane: window, outstanding) ── Lane of the fabric
 *                                │ Cookies: generation | slot | op          Credits: never more than the completion queue holds
 *                                ▼
 *   lane 1   chunk chunk chunk ........ all of the read's have completed ─▶ guard   proves exactly those chunks
 *   lane 2   chunk chunk ✗ broken: what was not proven has not arrived    ─▶ chunk again, when its request has ended
 * </pre>
 */
@NullMarked
package io.mooncake.core.transfer.onesided;

import org.jspecify.annotations.NullMarked;
