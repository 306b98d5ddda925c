/**
 * Inference engines whose KV cache goes through a {@link io.mooncake.core.BlockStore}.
 *
 * <pre>
 *   prompt ─▶ EngineAdapter ─▶ Session ──── which blocks are here, which are pulled, which are computed ─▶ logits, token by token
 *                  │              │
 *                  │              └─▶ Engine.Context    attach(block), compute(tokens), copyOut(block)
 *                  └─▶ BlockStore                            │
 *                                                            ├ MiniEngine: KvPages are the views themselves, MiniLlama computes
 *                                                            ├ JlamaEngine: rows between blocks and Jlama's pages; LayeredPull into those
 *                                                            └ LlamaCppEngine: LlamaState between blocks and llama.cpp's state (.ffi)
 * </pre>
 */
@NullMarked
package io.mooncake.bench.engine;

import org.jspecify.annotations.NullMarked;
