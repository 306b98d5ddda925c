/**
 * This node's authority over its blocks: the table, control words, pins, holds, eviction.
 *
 * <pre>
 *   any thread   BlockManager ── allocate ─▶ Writers ─▶ SlotWriter | ReplicaWriter, of a Lease ── commit ─▶ Publication: seals, puts in
 *                     ├── acquire ─────▶ Views ─▶ PinnedView: one lookup, one pin CAS ────┐                    │
 *                     ├── hold ────────▶ Holds ─▶ SlotHold: the same, without an address ─┤                    │
 *                     ├── touch, hint ─▶ Uses: ticks beside the control words ────────────┤                    │
 *                     │                                                                   ▼                    │
 *                     └──────────────▶ SlotTable: id ─▶ Entry (slot, generation), ControlWords, pools ◀────────┘
 *   engines      GuardPins ───────────▶    │
 *                                          │ mark(slot): commit, replace, evict, last unpin, end of a hold, released
 *                                          ▼
 *   conductor    Caretaker: drains the MarkStack, acts on what it finds at each marked slot:
 *                           announces, retires, frees; evicts by EvictionPolicy
 *                Holds:     ends those whose time is over
 *   its end      Closing:   evicts all, waits, closes the pools
 * </pre>
 *
 * <p>Who removes an entry from the table, and nobody else, says why in the slot's fate and marks the slot; the conductor frees
 * the slot only after that. So a late remover can't touch the slot's next block.
 */
@NullMarked
package io.mooncake.core.manager;

import org.jspecify.annotations.NullMarked;
