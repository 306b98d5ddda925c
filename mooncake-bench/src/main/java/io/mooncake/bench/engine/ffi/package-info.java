/**
 * llama.cpp through its C API: what {@code io.mooncake.bench.engine.LlamaCppEngine} needs of it, written by hand. The only package of the bench that
 * uses {@link java.lang.foreign.Linker}.
 *
 * <pre>
 *   LlamaModel, LlamaContext ─▶ LlamaApi (calls, by name) ─▶ LlamaLibrary (which file, which version, can it run here)
 *                                   └─▶ Parameters (a struct of the API, with the defaults that are expected)
 * </pre>
 */
@NullMarked
package io.mooncake.bench.engine.ffi;

import org.jspecify.annotations.NullMarked;
