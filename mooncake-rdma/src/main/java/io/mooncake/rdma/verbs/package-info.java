/**
 * libibverbs as Java objects, and below them the one interface that a simulated device implements.
 *
 * <pre>
 *   Device ──open──▶ Context ──▶ ProtectionDomain ──▶ MemoryRegion, QueuePair ──post──▶ WorkRequestRing
 *                       ├──────▶ CompletionChannel        │
 *                       ├──────▶ CompletionQueue ◀────────┘ ──poll──▶ Completion
 *                       └──────▶ AsyncEvent
 *   ───────────────────────────────────────────────────────────────────────────────────────────────
 *   Provider:  NativeProvider (the library)   |   a simulated one, in tests
 * </pre>
 *
 * Whoever makes an object closes it, in the reverse order; what would be left behind is named. Errors of calls are
 * {@link io.mooncake.rdma.verbs.VerbsException}s, those of requests are completions.
 */
@NullMarked
package io.mooncake.rdma.verbs;

import org.jspecify.annotations.NullMarked;
