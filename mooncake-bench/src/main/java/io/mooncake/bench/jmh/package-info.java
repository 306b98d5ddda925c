/**
 * Micro-benchmarks of what runs for every block, run by {@code micro}. Each class is one JMH state with its benchmarks; they use the
 * library as an engine does, through its public types.
 */
@NullMarked
package io.mooncake.bench.jmh;

import org.jspecify.annotations.NullMarked;
