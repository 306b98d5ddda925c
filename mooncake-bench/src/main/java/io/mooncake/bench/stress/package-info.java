/**
 * jcstress: every pair of threads that meet in a slot's control word, guard, mark, free stack or hold.
 *
 * <p>A test shows what this machine's CPU and compiler do; what x86 cannot show (stores reordered with stores, loads with loads) is argued
 * where the fences stand, in {@code GuardTable} and {@code ControlWords}.
 */
@NullMarked
package io.mooncake.bench.stress;

import org.jspecify.annotations.NullMarked;
