/**
 * Which block goes first: pure policies over what is known of the slots. One thread, the conductor's; no clock, no I/O.
 *
 * <pre>
 *   candidate ◀─ NextUsePolicy ─┬─ hinted: never again, first of all; others by the furthest next use, after all that follow
 *                               └─ not hinted: AdaptivePolicy | LruPolicy | S3FifoPolicy, by what was observed
 * </pre>
 */
@NullMarked
package io.mooncake.core.manager.eviction;

import org.jspecify.annotations.NullMarked;
