/**
 * The CUDA runtime as it is: jextract's output (see docs/building.md for how to make it anew; never edited by hand), and
 * beside it the library lookup. The only package of this module that uses {@link java.lang.foreign.Linker}.
 */
@NullMarked
package io.mooncake.cuda.runtime.ffi;

import org.jspecify.annotations.NullMarked;
