/**
 * Moving bytes: registered memory, the guarded read, the engines' SPI, and the {@link io.mooncake.core.transfer.Transfer} that a
 * caller submits.
 *
 * <pre>
 *   caller            Transfer (pieces by index: state, deadline, outcomes)
 *                        │ one GuardedRead a piece and attempt
 *                        ▼
 *   TransferEngine    local | tcp | ...   (each with a Poller that alone touches its sockets or queues)
 *                        │ reads Region memory of the owner under a pin taken from its GuardSource,
 *                        ▼ fetches the guard after the bytes, compares two longs
 *   ReadListener      onReadEnded(read, status): exactly once; from then on the engine writes no byte of the destination
 * </pre>
 *
 * <p>This package knows pieces by index and guards as longs; blocks are somebody else's business.
 */
@NullMarked
package io.mooncake.core.transfer;

import org.jspecify.annotations.NullMarked;
