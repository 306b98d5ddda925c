/** Decisions as pure functions over values: no clock, no I/O, no memory held. */
@NullMarked
package io.mooncake.core.schedule;

import org.jspecify.annotations.NullMarked;
