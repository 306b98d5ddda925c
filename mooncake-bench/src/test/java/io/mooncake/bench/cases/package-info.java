/** Fault cases that need a process of their own; each is named by its number. */
@NullMarked
package io.mooncake.bench.cases;

import org.jspecify.annotations.NullMarked;
