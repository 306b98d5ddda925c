/**
 * The block: its name, state, version, reference, and the rights that callers hold on it.
 *
 * <pre>
 *            allocate             commit              evict             last unpin
 *   FREE ───────────────▶ ALLOCATED ──────▶ WRITTEN ─────────▶ EVICTED ───────────▶ FREE
 *                            │  BlockWriter    BlockView, Hold, BlockRef
 *                            └── abort ──▶ FREE
 * </pre>
 *
 * <p>Only WRITTEN is readable, here and remotely, and a block is never written in place: writing again makes a new version
 * in another slot. The types here are values and interfaces; the authority over them is the hidden manager.
 */
@NullMarked
package io.mooncake.core.block;

import org.jspecify.annotations.NullMarked;
