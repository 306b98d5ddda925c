/**
 * The space of one tier of one node: reserve, release, quarantine, account. A pool decides nothing and moves nothing.
 *
 * <pre>
 *   memory (one reservation)   | slot 0 | slot 1 | slot 2 | ...      a slot's address is its stored offset
 *   guard table (host memory)  | guard 0 . | guard 1 . | ...          64 bytes a slot, readable by peers
 *   accounting                 used + free + quarantined = capacity, at every step
 * </pre>
 */
@NullMarked
package io.mooncake.core.pool;

import org.jspecify.annotations.NullMarked;
