/**
 * libibverbs as it is: jextract's output (see docs/building.md for how to make it anew; never edited by hand), and beside
 * it what jextract can't give: the library lookup and the calls that need their errno. The only package of this module
 * that uses {@link java.lang.foreign.Linker}.
 */
@NullMarked
package io.mooncake.rdma.verbs.ffi;

import org.jspecify.annotations.NullMarked;
